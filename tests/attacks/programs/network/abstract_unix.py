# tries: to connect to an abstract unix socket that a process of the host listens on
# expect: success
# holds: stdout has DENIED
# control: plain
import os
import socket

with socket.socket(socket.AF_UNIX) as client:
    try:
        client.connect("\0" + os.environ["ATTACK_ABSTRACT"])
        print("LEAK: connected to the host's abstract socket")
    except OSError as error:
        print("DENIED:", error)
for line in open("/proc/net/unix"):
    if os.environ["ATTACK_ABSTRACT"] in line or "docker" in line:
        print("LEAK: the host's sockets are listed:", line)
