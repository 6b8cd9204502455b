# tries: to change addresses, routes and links by netlink, and to hear the kernel's messages of devices and audits
# expect: success
# holds: stdout has DENIED
import socket
import struct

for protocol in range(24):
    try:
        with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, protocol) as link:
            if protocol:  # all but routes
                link.bind((0, 1))
            if protocol in (9, 15):
                link.settimeout(0.1)
                message = struct.pack("=IHHII", 16, 1000, 0x0005, 1, 0)  # AUDIT_GET with acknowledgement
                link.send(message)
                answer = link.recv(4096)
                print("LEAK:" if struct.unpack_from("=i", answer, 16)[0] == 0 else "DENIED:", "netlink", protocol)
    except OSError as error:
        print("DENIED:", protocol, error)
with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 0) as link:
    link.settimeout(1)
    for kind, body in ((16, struct.pack("=BBHiII", 0, 0, 0, 0, 0, 0)), (20, struct.pack("=BBBBi", 2, 8, 0, 0, 1))):
        # RTM_NEWLINK and RTM_NEWADDR, with NLM_F_REQUEST, ACK, CREATE and EXCL
        link.send(struct.pack("=IHHII", 16 + len(body), kind, 0x605, 1, 0) + body)
        code = struct.unpack_from("=i", link.recv(4096), 16)[0]
        print("LEAK: changed the network" if code == 0 else f"DENIED: {code}")
for path in ("/sys/class/net",):
    import os

    for name in os.listdir(path) if os.path.isdir(path) else ():
        if name not in ("lo", "bonding_masters", "sit0", "tunl0", "ip6tnl0", "gre0", "gretap0", "erspan0", "ip_vti0", "ip6_vti0", "ip6gre0"):
            print("LEAK: the interface", name)
