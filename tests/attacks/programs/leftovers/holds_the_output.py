# tries: to keep the reader waiting by a child that holds the output open
# expect: success
# holds: stdout has done
# holds: processes_killed >= 1
import os
import signal

if os.fork() == 0:
    signal.pthread_sigmask(signal.SIG_BLOCK, set(signal.Signals))
    while True:
        signal.pause()
print("done")
