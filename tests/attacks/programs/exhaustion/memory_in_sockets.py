# tries: to fill the buffers of sockets, which belong to no process
# expect: success or out_of_memory or code_execution_error
# limits: memory_mb=64 open_files=4096
# control: limits memory_mb=1024 open_files=4096
import socket

total, ends = 0, []
try:
    for _ in range(1000):
        pair = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
        ends.append(pair)
        for end in pair:
            end.setblocking(False)
            try:
                while True:
                    total += end.send(bytes(1 << 16))
            except BlockingIOError:
                pass
        if total > 128 << 20:
            print("LEAK: sockets hold", total >> 20, "MiB of 64")
            break
except OSError as error:
    print("DENIED:", error)
