# tries: to take memory that not every kernel charges to a control group: connections on the loopback that nobody reads
# expect: success or out_of_memory or code_execution_error
# limits: memory_mb=64 open_files=4000
# control: limits memory_mb=2048 open_files=4000
import socket
import time

total, kept = 0, []
try:
    server = socket.socket()
    server.bind(("127.0.0.1", 0))
    server.listen(512)
    for _ in range(100):
        client = socket.create_connection(server.getsockname())
        kept += [client, server.accept()[0]]
        client.setblocking(False)
        try:
            while True:
                total += client.send(bytes(65_536))
        except BlockingIOError:
            pass
        if total > 160 << 20:
            break
except OSError as error:
    print("DENIED:", error)
time.sleep(1)  # long enough for whoever watches
if total > 128 << 20:
    print("LEAK: sent", total >> 20, "MiB that nobody reads, with 64 MiB of memory")
