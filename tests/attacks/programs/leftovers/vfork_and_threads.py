# tries: to leave processes that wait for others in the kernel, and threads that compute
# expect: success
# holds: stdout has done
# holds: processes_killed >= 1
import ctypes
import os
import threading
import time

ready, tell = os.pipe()


def spin():
    while True:
        pass


if os.fork() == 0:
    for _ in range(5):
        threading.Thread(target=spin, daemon=True).start()
    os.write(tell, b"x")
    time.sleep(600)
if os.fork() == 0:
    # The parent of a vfork sleeps in the kernel until its child ends.
    if ctypes.CDLL(None).vfork() == 0:
        os.write(tell, b"x")
        time.sleep(600)
    os._exit(0)
os.read(ready, 1)
time.sleep(0.2)
print("done")
