# tries: to leave locks on the data without any process, in messages of sockets that only hold each other
# expect: success
import array
import fcntl
import os
import socket

descriptors = [os.open(f"/data/{name}", os.O_RDONLY) for name in ["sample_submission.csv"]]
for descriptor in descriptors:
    fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
one, two = socket.socketpair()
held = array.array("i", [*descriptors, one.fileno(), two.fileno()])
one.sendmsg([b"x"], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, held)])
two.sendmsg([b"x"], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, held)])
# --- the next program of the session ---
import fcntl
import os
import socket
import time

for _ in range(100):
    socket.socketpair()  # closing one has the kernel look for sockets that nobody holds
    failed = ""
    for name in ["sample_submission.csv"]:
        descriptor = os.open(f"/data/{name}", os.O_RDONLY)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            failed = f"{name}: {error}"
        os.close(descriptor)
    if not failed:
        break
    time.sleep(0.02)
else:
    print("LEAK: the data stays locked:", failed)
