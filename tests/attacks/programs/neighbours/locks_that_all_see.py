# tries: to have the programs of other boxes ended in its place, by locks that the kernel shows to all of them
# expect: success or out_of_memory or code_execution_error
# control: plain
import fcntl
import os
import struct
import time

F_OFD_SETLK, held, files = 37, 0, []
try:
    for number in range(50):
        files.append(os.open(f"{os.environ['TMPDIR']}/locked{number}", os.O_CREAT | os.O_RDWR))
        for start in range(300):
            fcntl.fcntl(files[-1], F_OFD_SETLK, struct.pack("hhqqi4x", fcntl.F_WRLCK, os.SEEK_SET, 2 * start, 1, 0))
            held += 1
except OSError as error:
    print("DENIED:", error)
time.sleep(2.5)
print("held", held)
# --- another program, at the same time ---
import time

until, most = time.monotonic() + 1.6, 0
while time.monotonic() < until:
    with open("/proc/locks", "rb") as file:
        most = max(most, file.read().count(b"OFDLCK"))
    time.sleep(0.02)
if most > 10_000:
    print("LEAK: it sees", most, "locks of others")
