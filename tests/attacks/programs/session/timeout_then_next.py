# tries: to take the time of the next program by running out of its own with many processes
# expect: timeout
# then: success or timeout
# limits: wall_seconds=1.5
# holds: reason has 1.5 s
import os
import signal
import time

for _ in range(8):
    if os.fork() == 0:
        signal.pthread_sigmask(signal.SIG_BLOCK, set(signal.Signals))
        break
while True:
    time.sleep(1)
# --- the next program of the session ---
print("short")
