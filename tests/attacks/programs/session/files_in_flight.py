# tries: to keep a folder full by files in messages of sockets that only hold each other, without any process
# expect: success
import array
import os
import socket

for place in ("/work", "/tmp", "/output", "/dev/shm"):
    descriptor = os.open(f"{place}/held", os.O_CREAT | os.O_RDWR)
    os.remove(f"{place}/held")
    try:
        for _ in range(7):
            os.write(descriptor, bytes(1 << 20))
    except OSError:
        pass
    one, two = socket.socketpair()
    held = array.array("i", [descriptor, one.fileno(), two.fileno()])
    one.sendmsg([b"x"], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, held)])
    two.sendmsg([b"x"], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, held)])
    one.close()
    two.close()
    os.close(descriptor)
# --- the next program of the session ---
for place in ("/work", "/tmp", "/output", "/dev/shm"):
    with open(f"{place}/mine", "wb") as file:
        try:
            for _ in range(6):
                file.write(bytes(1 << 20))
        except OSError as error:
            print("LEAK: no room left in", place, error)
