# tries: to leave memory in messages of sockets that only hold each other, until the next program has none
# expect: success or out_of_memory or code_execution_error
# limits: memory_mb=128 open_files=4096
import array
import socket

try:
    for _ in range(300):
        one, two = socket.socketpair()
        for end in (one, two):
            end.setblocking(False)
            end.sendmsg([bytes(100_000)], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [one.fileno(), two.fileno()]))])
        one.close()
        two.close()
except OSError as error:
    print("DENIED:", error)
# --- the next program of the session ---
block = b"x" * (40 << 20)
print(len(block))
