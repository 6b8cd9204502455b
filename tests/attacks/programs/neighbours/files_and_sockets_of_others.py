# tries: to meet the program of another box: in /tmp, in shared memory, by an abstract socket, by signals, by a port
# expect: success
# control: plain
import os
import socket
import time

for place in ("/tmp", "/dev/shm"):
    with open(f"{place}/meeting-{os.environ['ATTACK_TCP']}", "w") as file:
        file.write("here")
unix = socket.socket(socket.AF_UNIX)
unix.bind("\0meeting-" + os.environ["ATTACK_TCP"])
unix.listen()
tcp = socket.socket()
tcp.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
tcp.bind(("127.0.0.1", 47012))
tcp.listen()
time.sleep(2.5)
for place in ("/tmp", "/dev/shm"):
    os.remove(f"{place}/meeting-{os.environ['ATTACK_TCP']}")
# --- another program, at the same time ---
import os
import socket
import time

until = time.monotonic() + 1.6
while time.monotonic() < until:
    for place in ("/tmp", "/dev/shm"):
        if os.path.exists(f"{place}/meeting-{os.environ['ATTACK_TCP']}"):
            print("LEAK: met in", place)
    for family, address in ((socket.AF_UNIX, "\0meeting-" + os.environ["ATTACK_TCP"]), (socket.AF_INET, ("127.0.0.1", 47012))):
        with socket.socket(family) as client:
            try:
                client.connect(address)
                print("LEAK: met at", address)
            except OSError:
                pass
    time.sleep(0.05)
others = [pid for pid in os.listdir("/proc") if pid.isdigit() and int(pid) not in (1, os.getpid())]
if len(others) > 1:  # but for the one that it may be forked from
    print("LEAK: sees processes", others)
