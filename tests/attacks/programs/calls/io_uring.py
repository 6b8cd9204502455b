# tries: to set up io_uring, whose operations no system call filter sees
# expect: success
# holds: stdout has DENIED
import ctypes
import os

libc = ctypes.CDLL(None, use_errno=True)
parameters = ctypes.create_string_buffer(120)
for entries in (1, 8, 4096):
    if libc.syscall(425, entries, parameters) >= 0:
        print("LEAK: an io_uring with", entries, "entries")
    else:
        print("DENIED:", os.strerror(ctypes.get_errno()))
