# tries: to leave no room for processes: as many as it may have, all of which try to stay
# expect: success
# limits: processes=24
# holds: processes_killed >= 5
import os
import signal

signal.pthread_sigmask(signal.SIG_BLOCK, set(signal.Signals))
for _ in range(100):
    try:
        if os.fork() == 0:
            os.setsid()
            while True:
                signal.sigwait([signal.SIGUSR1])
    except OSError:
        break
# --- the next program of the session ---
import os

for _ in range(10):
    try:
        if os.fork() == 0:
            os._exit(0)
    except OSError as error:
        print("LEAK: no process is left for it:", error)
