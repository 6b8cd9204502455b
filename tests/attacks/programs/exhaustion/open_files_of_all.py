# tries: to leave no open files to the whole machine, which has a number of them for all users, by many processes
# expect: success or out_of_memory or code_execution_error
# limits: memory_mb=512 processes=100 open_files=4096 wall_seconds=30
import os
import struct
import time

read, write = os.pipe()
for _ in range(95):
    if os.fork() == 0:
        opened = 0
        try:
            while True:
                os.open("/dev/null", os.O_RDONLY)
                opened += 1
        except OSError:
            pass
        os.write(write, struct.pack("=I", opened))
        time.sleep(25)
        os._exit(0)
total = sum(struct.unpack("=I", os.read(read, 4))[0] for _ in range(95))
print("opened", total)
if total > 300_000:
    print("LEAK: one box has", total, "files open")
os._exit(0)
