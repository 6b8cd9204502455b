# tries: to have the kernel load and use protocols that are seldom used and seldom looked at: SCTP, DCCP, MPTCP, L2TP, TLS
# expect: success
# holds: stdout has DENIED
# control: plain
import errno
import socket

DENIED = (errno.EPERM, errno.EACCES, errno.EINVAL)
for family in (socket.AF_INET, socket.AF_INET6):
    for protocol in (132, 33, 136, 262, 115, 50, 51, 108, 255):
        for kind in (socket.SOCK_STREAM, socket.SOCK_DGRAM, socket.SOCK_SEQPACKET):
            try:
                with socket.socket(family, kind, protocol):
                    print("LEAK: a socket of protocol", protocol)
            except OSError as error:
                said = "DENIED:" if error.errno in DENIED else "LEAK: the kernel looked for it:"
                print(said, family, kind, protocol, errno.errorcode[error.errno])
for protocol in (2, 4, 12, 16, 20, 21):  # netlink: user messages, diagnosis, netfilter, generic, RDMA, crypto
    try:
        with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, protocol):
            print("LEAK: netlink", protocol)
    except OSError as error:
        print("DENIED:" if error.errno in DENIED else "LEAK: looked for netlink", protocol, error)
with socket.socket() as server:
    server.bind(("127.0.0.1", 0))
    server.listen()
    with socket.create_connection(server.getsockname()) as client:
        try:
            client.setsockopt(socket.IPPROTO_TCP, 31, b"tls")
            print("LEAK: TLS of the kernel")
        except OSError as error:
            print("DENIED:" if error.errno in DENIED else "LEAK: looked for", "TLS", error)
