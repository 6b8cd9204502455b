# tries: to take memory that not every kernel charges to a control group: datagrams on the loopback that nobody reads
# expect: success or out_of_memory or code_execution_error
# limits: memory_mb=64 open_files=4000
# control: limits memory_mb=2048 open_files=4000
import socket
import time

total, kept = 0, []
try:
    sender = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    for _ in range(800):
        kept.append(socket.socket(socket.AF_INET, socket.SOCK_DGRAM))
        kept[-1].bind(("127.0.0.1", 0))
        for _ in range(6):
            total += sender.sendto(bytes(30_000), kept[-1].getsockname())
except OSError as error:
    print("DENIED:", error)
time.sleep(1)  # long enough for whoever watches
if total > 128 << 20:
    print("LEAK: sent", total >> 20, "MiB that nobody reads, with 64 MiB of memory")
