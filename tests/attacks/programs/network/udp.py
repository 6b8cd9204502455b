# tries: to send datagrams to the host and away, by unicast, broadcast and multicast
# expect: success
# holds: stdout has DENIED
import os
import socket

for target in (("172.17.0.1", int(os.environ["ATTACK_UDP"])), ("8.8.8.8", 53), ("255.255.255.255", 9), ("224.0.0.1", 9)):
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender:
        sender.settimeout(1)
        try:
            sender.setsockopt(socket.SOL_SOCKET, socket.SO_BROADCAST, 1)
            sender.sendto(b"out", target)
            print("LEAK: sent to", target)
        except OSError as error:
            print("DENIED:", target, error)
with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender:  # to the host's loopback, were it the same
    sender.sendto(b"out", ("127.0.0.1", int(os.environ["ATTACK_UDP"])))
