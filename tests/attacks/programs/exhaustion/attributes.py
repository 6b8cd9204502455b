# tries: to take memory as extended attributes of files, which no size of a file system counts
# expect: success or out_of_memory or code_execution_error
# limits: memory_mb=64 inodes=2000
import os
import time

total = 0
try:
    for number in range(900):
        path = f"/tmp/{number}"
        open(path, "w").close()
        for name in range(4):
            os.setxattr(path, f"user.{name}", bytes(60_000))
            total += 60_000
except OSError as error:
    print("DENIED:", error)
time.sleep(0.5)
if total > 96 << 20:
    print("LEAK: attributes hold", total >> 20, "MiB with 64 MiB of memory")
