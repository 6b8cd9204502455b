# tries: to exhaust whoever cleans up: folders beyond the length of a path, long names, names that are no text
# expect: success
# limits: inodes=3000 memory_mb=256
import os

for place in (b"/work", b"/tmp", b"/output", b"/dev/shm"):
    os.chdir(place)
    for number in range(200):
        open(b"\xff%d" % number + b"n" * 200, "wb").close()
    for depth in range(1200):
        os.mkdir(b"\xfe" + b"d" * 100)
        os.chdir(b"\xfe" + b"d" * 100)
    os.chmod(b".", 0)
# --- the next program of the session ---
import os

for place in ("/work", "/tmp", "/output", "/dev/shm"):
    if set(os.listdir(place)) - {"program.py"}:
        print("LEAK:", place, "holds", str(os.listdir(place))[:100])
