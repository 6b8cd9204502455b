# tries: to reach the hypervisor or another machine by a vsock
# expect: success
# holds: stdout has DENIED
import ctypes
import os
import socket

for kind in (socket.SOCK_STREAM, socket.SOCK_DGRAM, socket.SOCK_SEQPACKET):
    try:
        with socket.socket(40, kind):
            print("LEAK: a vsock of type", kind)
    except OSError as error:
        print("DENIED:", error)
# The kernel reads 32 bits of the family: a filter that compares all 64 must not be fooled by the upper ones.
libc = ctypes.CDLL(None, use_errno=True)
libc.syscall.argtypes = [ctypes.c_long] * 4
number = 41 if os.uname().machine == "x86_64" else 198
for upper in (1 << 32, 1 << 63 - 1, 0xFFFFFFFF << 32):
    if libc.syscall(number, ctypes.c_long(upper | 40).value, socket.SOCK_STREAM, 0) >= 0:
        print("LEAK: a vsock with upper bits")
    else:
        print("DENIED: upper bits")
