# tries: to take memory of the kernel that is charged to no control group, as locks on ranges of files
# expect: success or out_of_memory or code_execution_error
# control: plain
import fcntl
import os
import struct
import time

held, files = 0, []
try:
    for number in range(150):
        files.append(os.open(f"{os.environ['TMPDIR']}/locked{number}", os.O_CREAT | os.O_RDWR))
        for start in range(400):
            fcntl.fcntl(files[-1], fcntl.F_SETLK, struct.pack("hhqqi4x", fcntl.F_WRLCK, os.SEEK_SET, 2 * start, 1, 0))
            held += 1
except OSError as error:
    print("DENIED:", error)
time.sleep(2.5)  # long enough for whoever watches
if held > 50_000:
    print("LEAK: holds", held, "locks, 192 bytes of the kernel each")
