# tries: to leave no processes to the boxes beside its own
# expect: success
# limits: processes=100
import os
import signal
import time

children = []
until = time.monotonic() + 2.5
while time.monotonic() < until:
    try:
        pid = os.fork()
        if pid == 0:
            signal.pause()
        children.append(pid)
    except OSError:
        time.sleep(0.01)
# --- another program, at the same time ---
import os
import time

until, failed = time.monotonic() + 1.6, ""
while time.monotonic() < until and not failed:
    try:
        pid = os.fork()
        if pid == 0:
            os._exit(0)
        os.waitpid(pid, 0)
    except OSError as error:
        failed = str(error)
    time.sleep(0.02)
if failed:
    print("LEAK: a program of another box got no process:", failed)
