# tries: to use up what the kernel grants to a user for all its processes: pages of pipes
# expect: success
# limits: memory_mb=512 open_files=4096
import fcntl
import os
import time

pipes = []
for size in (1 << 20, 1 << 16):
    try:
        while len(pipes) < 1800:
            ends = os.pipe()
            pipes.append(ends)
            fcntl.fcntl(ends[1], fcntl.F_SETPIPE_SZ, size)
    except OSError:
        continue
time.sleep(2.5)
# --- another program, at the same time ---
import os
import time

until, failed = time.monotonic() + 1.6, ""
while time.monotonic() < until and not failed:
    try:
        read, write = os.pipe()
        os.set_blocking(write, False)
        if os.write(write, bytes(4096)) != 4096:
            failed = "a pipe that takes less than 4 KiB"
        os.close(read)
        os.close(write)
    except OSError as error:
        failed = str(error)
    time.sleep(0.01)
if failed:
    print("LEAK: a program of another box got no pipe:", failed)
