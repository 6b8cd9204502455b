# tries: to choke the process that it was forked from with thousands of children that end at once
# expect: success or timeout or code_execution_error
# limits: wall_seconds=3
import ctypes
import os
import signal
import time

libc = ctypes.CDLL(None, use_errno=True)
clone = ctypes.c_long(56 if os.uname().machine == "x86_64" else 220)
until, made = time.monotonic() + 1.5, 0
while time.monotonic() < until:
    pid = libc.syscall(clone, ctypes.c_long(0x8000 | signal.SIGCHLD), 0, 0, 0, 0)
    if pid == 0:
        libc._exit(0)
    made += pid > 0
print("made", made)
os._exit(0)
# --- the next program of the session ---
print("it runs")
