# tries: to leave full folders, by files with names, and by deleted ones that a daemon or a message holds
# expect: success
# limits: memory_mb=256
import array
import os
import socket
import time

for place in ("/work", "/tmp", "/output", "/dev/shm"):
    descriptor = os.open(f"{place}/held", os.O_CREAT | os.O_RDWR)
    try:
        for _ in range(7):
            os.write(descriptor, bytes(1 << 20))
    except OSError:
        pass
    os.remove(f"{place}/held")
    try:
        with open(f"{place}/named", "wb") as file:
            for _ in range(7):
                file.write(bytes(1 << 20))
    except OSError:
        pass
    one, two = socket.socketpair()
    one.sendmsg([b"x"], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [descriptor, one.fileno(), two.fileno()]))])
    two.sendmsg([b"x"], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [descriptor, one.fileno(), two.fileno()]))])
if os.fork() == 0:
    os.setsid()
    time.sleep(600)
# --- the next program of the session ---
for place in ("/work", "/tmp", "/output", "/dev/shm"):
    with open(f"{place}/mine", "wb") as file:
        try:
            for _ in range(6):
                file.write(bytes(1 << 20))
        except OSError as error:
            print("LEAK: no room left in", place, error)
