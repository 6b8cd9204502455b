# tries: to serve the next program from a daemon, by an abstract unix socket and a port of the loopback
# expect: success
# holds: processes_killed >= 1
# control: plain
import os
import socket
import time

if os.fork() == 0:
    os.setsid()
    for number in (0, 1, 2):
        os.close(number)
    unix = socket.socket(socket.AF_UNIX)
    unix.bind("\0poison-" + os.environ["ATTACK_TCP"])
    unix.listen()
    tcp = socket.socket()
    tcp.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    tcp.bind(("127.0.0.1", 47011))
    tcp.listen()
    time.sleep(8)
    os._exit(0)
time.sleep(0.3)
# --- the next program of the session ---
import os
import socket

for family, address in ((socket.AF_UNIX, "\0poison-" + os.environ["ATTACK_TCP"]), (socket.AF_INET, ("127.0.0.1", 47011))):
    with socket.socket(family) as client:
        try:
            client.connect(address)
            print("LEAK: connected to", address)
        except OSError as error:
            print("DENIED:", error)
