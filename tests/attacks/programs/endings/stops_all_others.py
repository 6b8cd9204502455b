# tries: to stop the supervisor or the warm parent for a while and to let it go on later, to win time
# expect: success or timeout
# limits: wall_seconds=3
import os
import signal
import time

others = [int(name) for name in os.listdir("/proc") if name.isdigit() and int(name) != os.getpid()]
for pid in others:
    try:
        os.kill(pid, signal.SIGSTOP)
    except OSError as error:
        print("DENIED:", error)
time.sleep(1)
print("on it goes")
