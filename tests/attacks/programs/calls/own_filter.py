# tries: to load a system call filter of its own that allows everything, above the one of the box
# expect: success
# holds: stdout has DENIED
import ctypes
import os
import struct

libc = ctypes.CDLL(None, use_errno=True)
allow = ctypes.create_string_buffer(struct.pack("=HBBI", 6, 0, 0, 0x7FFF0000))
program = struct.pack("=HxxxxxxQ", 1, ctypes.addressof(allow))
loaded = libc.prctl(22, 2, program, 0, 0)
for option in ((38, 0), (8, 1), (4, 1), (28, 0x1F), (47, 2, 21)):  # no_new_privs off, keepcaps, dumpable, securebits, ambient
    result = libc.prctl(option[0], ctypes.c_ulong(option[1]), ctypes.c_ulong(option[2] if len(option) > 2 else 0), 0, 0)
    if result == 0 and option[0] in (38, 28, 47):
        print("LEAK: prctl", option)
if libc.unshare(0x10000000) == 0 or libc.syscall(425, 1, ctypes.create_string_buffer(120)) >= 0:
    print("LEAK: the filter was undone")
status = open("/proc/self/status").read()
if "NoNewPrivs:\t1" not in status or "Seccomp:\t2" not in status:
    print("LEAK: not confined any more")
print("DENIED: its own filter, loaded or not:", loaded)
