# tries: to have more processes at once than its limit, all asleep
# expect: success
# limits: processes=24
# holds: stdout has DENIED
# control: limits processes=60
import os
import signal

children = []
try:
    while len(children) < 40:
        pid = os.fork()
        if pid == 0:
            signal.pause()
        children.append(pid)
    print("LEAK: has", len(children), "children")
except OSError as error:
    print("DENIED:", error)
