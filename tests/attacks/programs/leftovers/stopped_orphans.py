# tries: to leave stopped processes, in groups and sessions of their own
# expect: success
# holds: stdout has done
import os
import signal
import time

for number in range(3):
    if os.fork() == 0:
        (os.setsid if number % 2 else os.setpgrp)()
        os.kill(os.getpid(), signal.SIGSTOP)
for _ in range(200):
    states = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            states.append(open(f"/proc/{pid}/stat").read().rpartition(")")[2].split()[0])
        except OSError:
            continue
    if states.count("T") >= 3:
        break
    time.sleep(0.02)
print("done")
