# tries: to use up what the kernel grants to a user for all its processes: queued signals and timers
# expect: success
# open(ordinary): the boxes of an ordinary user are all of one user of the kernel, whose limit this is
# limits: memory_mb=512
import ctypes
import os
import resource
import signal
import time

libc = ctypes.CDLL(None, use_errno=True)
signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGRTMIN})
resource.setrlimit(resource.RLIMIT_SIGPENDING, (resource.getrlimit(resource.RLIMIT_SIGPENDING)[1],) * 2)
until, queued = time.monotonic() + 2.5, 0
while time.monotonic() < until:
    if libc.sigqueue(os.getpid(), signal.SIGRTMIN, None) == 0:
        queued += 1
    else:
        time.sleep(0.01)
print("queued", queued, "of", resource.getrlimit(resource.RLIMIT_SIGPENDING))
# --- another program, at the same time ---
import ctypes
import time

libc = ctypes.CDLL(None, use_errno=True)
until, failed = time.monotonic() + 1.6, 0
while time.monotonic() < until:
    timer = ctypes.c_void_p()
    if libc.timer_create(1, None, ctypes.byref(timer)) != 0:
        failed += 1
    else:
        libc.timer_delete(timer)
    time.sleep(0.01)
if failed:
    print("LEAK: a program of another box got no timer,", failed, "times")
