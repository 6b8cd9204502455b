# tries: to mount what is read-only for writing, with every call that there is for mounts
# expect: success
# holds: stdout has DENIED
import ctypes
import os

libc = ctypes.CDLL(None, use_errno=True)
for place in (b"/", b"/data", b"/opt/venv", b"/proc", b"/sys", b"/dev"):
    for flags in (32, 32 | 4096, 4096, 1 << 18, 1 << 20):  # remount, bind remount, bind, private, shared
        if libc.mount(b"none", place, b"tmpfs", ctypes.c_ulong(flags), None) == 0:
            print("LEAK: mounted", place, flags)
        else:
            print("DENIED:", place, os.strerror(ctypes.get_errno()))
for place in (b"/data", b"/proc", b"/tmp"):
    if libc.umount2(place, 2) == 0:
        print("LEAK: unmounted", place)
libc.syscall.restype = ctypes.c_long
for number in (428, 429, 430, 431, 432, 433, 442, 155):
    if libc.syscall(ctypes.c_long(number), ctypes.c_long(-100), b"/data", 0, 0, 0) >= 0:
        print("LEAK: call", number)
