# tries: to see or signal processes outside of its box
# expect: success
# holds: stdout has DENIED
# control: plain
import os

seen = [int(name) for name in os.listdir("/proc") if name.isdigit()]
others = set(seen) - {1, os.getpid()}
if len(others) > 1:  # but for the one that it may be forked from
    print("LEAK: processes", sorted(others)[:10])
for pid in (2, 3, 4, 5, 300, 1000):
    if pid in seen:
        continue
    try:
        os.kill(pid, 0)
        print("LEAK: a process", pid)
    except OSError:
        pass
print("DENIED: only its own")
