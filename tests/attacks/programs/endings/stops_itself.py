# tries: to outlive its time as a stopped process, which handles no signal
# expect: timeout
# limits: wall_seconds=1
import os
import signal

if os.fork() == 0:
    os.setsid()
    os.kill(os.getpid(), signal.SIGSTOP)
os.kill(os.getpid(), signal.SIGSTOP)
