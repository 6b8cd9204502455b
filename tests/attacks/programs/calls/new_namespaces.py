# tries: to become root in a user namespace of its own, by unshare, clone and clone3
# expect: success
# holds: stdout has DENIED
import ctypes
import os
import signal

libc = ctypes.CDLL(None, use_errno=True)
for flag in (0x00020000, 0x02000000, 0x04000000, 0x08000000, 0x10000000, 0x20000000, 0x40000000, 0x80):
    for flags in (flag, flag | 0x10000000):
        if libc.unshare(flags) == 0:
            print("LEAK: unshared", hex(flags))
        else:
            print("DENIED: unshare", hex(flags))
clone = 56 if os.uname().machine == "x86_64" else 220
for flags in (0x10000000, 0x20000000, 0x40000000, 0x00020000, 0x10020000, 0x50000000):
    pid = libc.syscall(ctypes.c_long(clone), ctypes.c_long(flags | signal.SIGCHLD), 0, 0, 0, 0)
    if pid == 0:
        os._exit(0)
    print("LEAK: cloned into" if pid > 0 else "DENIED: clone", hex(flags))
arguments = (ctypes.c_uint64 * 11)(0x10000000, 0, 0, 0, signal.SIGCHLD)
pid = libc.syscall(ctypes.c_long(435), arguments, ctypes.sizeof(arguments))
if pid == 0:
    os._exit(0)
print("LEAK: clone3" if pid > 0 else "DENIED: clone3")
