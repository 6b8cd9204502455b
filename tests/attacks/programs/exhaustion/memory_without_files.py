# tries: to take memory that no mount bounds: memfd, secret memory, System V segments, message queues
# expect: success
# holds: stdout has DENIED
# control: plain
import ctypes
import os

libc = ctypes.CDLL(None, use_errno=True)
try:
    os.close(os.memfd_create("hidden"))
    print("LEAK: a memfd")
except OSError as error:
    print("DENIED:", error)
for name, result in (
    ("a segment", libc.shmget(0, 1 << 20, 0o1600)),
    ("a queue", libc.msgget(0, 0o1600)),
    ("semaphores", libc.semget(0, 10, 0o1600)),
    ("secret memory", libc.syscall(447, 0)),
    ("huge pages", libc.syscall(319, b"huge", 4)),
):
    print(("LEAK:" if result >= 0 else "DENIED:"), name)
    if result >= 0 and name == "a segment":
        libc.shmctl(result, 0, None)
    if result >= 0 and name == "a queue":
        libc.msgctl(result, 0, None)
    if result >= 0 and name == "semaphores":
        libc.semctl(result, 0, 0)
