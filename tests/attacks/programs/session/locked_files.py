# tries: to leave locks on the data that the next program waits for
# expect: success
import fcntl
import os
import time

descriptors = [os.open(f"/data/{name}", os.O_RDONLY) for name in ["train.csv"]]
for descriptor in descriptors:
    fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
if os.fork() == 0:
    os.setsid()
    time.sleep(600)
# --- the next program of the session ---
import fcntl
import os

for name in ["train.csv"]:
    descriptor = os.open(f"/data/{name}", os.O_RDONLY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        print("LEAK:", name, "is locked:", error)
