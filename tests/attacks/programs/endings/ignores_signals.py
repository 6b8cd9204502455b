# tries: to outlive its time by ignoring every signal that can be ignored
# expect: timeout
# limits: wall_seconds=1
import contextlib
import signal
import time

for number in set(signal.Signals):
    with contextlib.suppress(OSError, ValueError):
        signal.signal(number, signal.SIG_IGN)
signal.pthread_sigmask(signal.SIG_BLOCK, set(signal.Signals))
while True:
    with contextlib.suppress(BaseException):
        time.sleep(600)
