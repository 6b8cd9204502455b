# tries: to use up what the kernel grants to a user for all its processes: descriptors in messages on their way
# expect: success
# open(ordinary): the boxes of an ordinary user are all of one user of the kernel, whose limit this is
# limits: open_files=256
import array
import os
import socket
import time

descriptor, pairs, sent = os.open("/dev/null", os.O_RDONLY), [], 0
until = time.monotonic() + 2.5
while time.monotonic() < until:
    try:
        if len(pairs) < 40:
            pairs.append(socket.socketpair())
        pair = pairs[sent % len(pairs)]
        pair[0].setblocking(False)
        pair[0].sendmsg([b"x"], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [descriptor] * 200))])
        sent += 200
    except OSError:
        time.sleep(0.01)
print("in flight:", sent)
# --- another program, at the same time ---
import array
import os
import socket
import time

descriptor = os.open("/dev/null", os.O_RDONLY)
until, failed = time.monotonic() + 1.6, ""
while time.monotonic() < until and not failed:
    one, two = socket.socketpair()
    try:
        one.sendmsg([b"x"], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [descriptor]))])
        socket.recv_fds(two, 1, 1)
    except OSError as error:
        failed = str(error)
    one.close()
    two.close()
    time.sleep(0.01)
if failed:
    print("LEAK: a program of another box cannot pass descriptors:", failed)
