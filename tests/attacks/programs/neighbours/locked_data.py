# tries: to keep programs of other boxes from the data, by locks on files that all of them see
# expect: success
# open: the boxes see one data folder, and locks belong to its files; nothing is learned or changed by it
import fcntl
import os
import time

for name in ["test.csv"]:
    fcntl.flock(os.open(f"/data/{name}", os.O_RDONLY), fcntl.LOCK_EX | fcntl.LOCK_NB)
time.sleep(2.5)
# --- another program, at the same time ---
import fcntl
import os
import time

until, failed = time.monotonic() + 1.6, ""
while time.monotonic() < until and not failed:
    for name in ["test.csv"]:
        descriptor = os.open(f"/data/{name}", os.O_RDONLY)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except OSError as error:
            failed = f"{name}: {error}"
        os.close(descriptor)
    time.sleep(0.02)
if failed:
    print("LEAK: the data is locked by a program of another box:", failed)
