# tries: to make children of the process that it was forked from, whose ends are then told in the next program's time
# expect: success
# limits: processes=40
import ctypes
import os
import signal
import time

libc = ctypes.CDLL(None, use_errno=True)
clone = ctypes.c_long(56 if os.uname().machine == "x86_64" else 220)
CLONE_PARENT = 0x8000
made = 0
for number in range(30):
    pid = libc.syscall(clone, ctypes.c_long(CLONE_PARENT | signal.SIGCHLD), 0, 0, 0, 0)
    if pid == 0:
        until = time.monotonic() + (0.05 if number % 2 else 600)
        while time.monotonic() < until:
            sum(range(1000))
        os._exit(number)
    made += pid > 0
print("made", made)
time.sleep(0.2)
os._exit(0)
# --- the next program of the session ---
print("it runs")
