# tries: to open sockets of every family and type: raw, packet, vsock, algorithm, Bluetooth, CAN and so on
# expect: success
# holds: stdout has DENIED
# control: plain
import socket

ALLOWED = {1, 2, 10, 16}  # unix, IPv4, IPv6, netlink
for family in range(50):
    for kind in (socket.SOCK_STREAM, socket.SOCK_DGRAM, socket.SOCK_RAW, socket.SOCK_SEQPACKET, 10):
        try:
            with socket.socket(family, kind):
                if family not in ALLOWED or (kind == socket.SOCK_RAW and family in (2, 10)) or kind == 10:
                    print("LEAK: a socket of family", family, "type", kind)
        except OSError:
            print("DENIED:", family, kind)
