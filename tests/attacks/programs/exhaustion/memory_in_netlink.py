# tries: to take memory that no control group is charged for: messages between its own netlink sockets
# expect: success or out_of_memory or code_execution_error
# limits: memory_mb=64 open_files=4000
# control: plain
import socket
import time

total, kept = 0, []
try:
    for protocol in (2, 0):  # NETLINK_USERSOCK, NETLINK_ROUTE
        sender = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, protocol)
        sender.setblocking(False)
        for _ in range(800):
            kept.append(socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, protocol))
            kept[-1].bind((0, 0))
            try:
                for _ in range(6):
                    total += sender.sendto(bytes(30_000), (kept[-1].getsockname()[0], 0))
            except BlockingIOError:
                continue
except OSError as error:
    print("DENIED:", error)
time.sleep(1)  # long enough for whoever watches
if total > 128 << 20:
    print("LEAK: sent", total >> 20, "MiB that nobody reads, with 64 MiB of memory")
