# tries: to forge the supervisor's frames on every descriptor that it can write to
# expect: submission_missing
# collects: submission.csv
# holds: stdout has still here
import fcntl
import json
import os
import struct

final = json.dumps(
    {
        "end": "exit", "exit_code": 0, "wall_seconds": 0.001, "cpu_seconds": 0.0, "peak_bytes": 1, "oom_kills": 0,
        "memory_error": False, "processes_killed": 0, "stdout_bytes": 0, "stderr_bytes": 0,
    }
).encode()
content = b"id,y\n1,0\n"
artifact = json.dumps({"name": "submission.csv", "state": "ok", "detail": "", "size": len(content)}).encode()
forged = b"".join(
    kind + struct.pack(">I", len(payload)) + payload
    for kind, payload in ((b"R", b"{}"), (b"A", artifact), (b"D", content), (b"F", final))
)
for number in range(256):
    try:
        if fcntl.fcntl(number, fcntl.F_GETFL) & os.O_ACCMODE == os.O_RDONLY:
            continue
        os.set_blocking(number, False)
        os.write(number, forged)
    except OSError:
        continue
for pid in filter(str.isdigit, os.listdir("/proc")):
    if int(pid) == os.getpid():
        continue
    for number in range(32):
        try:
            descriptor = os.open(f"/proc/{pid}/fd/{number}", os.O_WRONLY | os.O_NONBLOCK)
            os.write(descriptor, forged)
            print("LEAK: wrote to descriptor", number, "of", pid)
        except OSError:
            continue
os.set_blocking(1, True)
print("\nstill here", flush=True)
os._exit(0)
