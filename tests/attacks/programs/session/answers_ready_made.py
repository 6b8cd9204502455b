# tries: to answer for the next program: forged frames that wait in the pipes for the supervisor's next look
# expect: success
# then: submission_missing
# collects: submission.csv
import json
import os
import struct

with open("/output/submission.csv", "w") as file:
    file.write("id,y\n1,0\n")
final = json.dumps({"end": "exit", "exit_code": 0, "wall_seconds": 0.0, "cpu_seconds": 0.0, "peak_bytes": 0, "oom_kills": 0, "memory_error": False, "processes_killed": 0, "stdout_bytes": 0, "stderr_bytes": 0}).encode()
for number in range(3, 256):
    try:
        os.set_blocking(number, False)
        os.write(number, b"F" + struct.pack(">I", len(final)) + final)
        os.write(number, b"R\n0\n" * 100)
        os.write(number, struct.pack("=iiI", 0, 0, 0) * 10)
    except OSError:
        continue
# --- the next program of the session ---
print("it writes nothing")
