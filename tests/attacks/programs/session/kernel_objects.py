# tries: to leave System V segments, queues and POSIX names, which outlive their process
# expect: success
import ctypes

libc = ctypes.CDLL(None, use_errno=True)
libc.shmget(0x706F69, 4096, 0o1666)
libc.msgget(0x706F69, 0o1666)
libc.semget(0x706F69, 1, 0o1666)
try:
    rt = ctypes.CDLL("librt.so.1", use_errno=True)
    rt.mq_open(b"/poison", 0o102, 0o666, None)
    libc.sem_open(b"/poison", 0o100, 0o666, 1)
except (OSError, AttributeError):
    pass
libc.syscall(248, b"user", b"poison", b"poison", 6, -4)
# --- the next program of the session ---
import ctypes
import os

libc = ctypes.CDLL(None, use_errno=True)
for name, result in (
    ("segment", libc.shmget(0x706F69, 4096, 0o666)),
    ("queue", libc.msgget(0x706F69, 0o666)),
    ("semaphore", libc.semget(0x706F69, 1, 0o666)),
):
    if result >= 0:
        print("LEAK: a", name, "was left")
for folder in ("/dev/mqueue", "/dev/shm"):
    if os.path.isdir(folder) and os.listdir(folder):
        print("LEAK:", folder, "holds", os.listdir(folder))
