# tries: to take kernel memory as timers, event descriptors, watches, locks and queued signals
# expect: success or code_execution_error or out_of_memory
# limits: memory_mb=64 wall_seconds=15
import ctypes
import fcntl
import os
import select
import signal

signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGRTMIN, signal.SIGALRM})
libc = ctypes.CDLL(None, use_errno=True)
made, identity = 0, ctypes.c_void_p()
while made < 20_000 and libc.timer_create(1, None, ctypes.byref(identity)) == 0:
    made += 1
queued = 0
while queued < 20_000 and libc.sigqueue(os.getpid(), signal.SIGRTMIN, None) == 0:
    queued += 1
locks = 0
with open("/tmp/locked", "w") as file:
    try:
        for locks in range(3_000):
            fcntl.lockf(file, fcntl.LOCK_EX, 1, locks * 2)
    except OSError:
        pass
events = select.epoll()
print("made", made, "timers", queued, "signals", locks, "locks")
