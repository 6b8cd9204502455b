# tries: to make system calls by the doors for 32-bit and x32 programs, where the numbers mean other calls
# expect: success or code_execution_error
# holds: stdout has no opened
import ctypes
import mmap
import os
import sys

if os.uname().machine != "x86_64":
    print("DENIED: no such door here")
    sys.exit()
libc = ctypes.CDLL(None, use_errno=True)
for number, name in ((41, "socket"), (101, "ptrace"), (425, "io_uring_setup"), (165, "mount"), (39, "getpid")):
    if libc.syscall(ctypes.c_long(0x40000000 | number), 40, 1, 0) >= 0:
        print("LEAK: x32", name)
    else:
        print("DENIED: x32", name)
sys.stdout.flush()
# mov eax, 359 (socket); mov ebx, 40; mov ecx, 1; xor edx, edx; int 0x80; ret
code = b"\x53\xb8\x67\x01\x00\x00\xbb\x28\x00\x00\x00\xb9\x01\x00\x00\x00\x31\xd2\xcd\x80\x5b\xc3"
page = mmap.mmap(-1, 4096, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
page.write(code)
function = ctypes.CFUNCTYPE(ctypes.c_int)(ctypes.addressof(ctypes.c_char.from_buffer(page)))
child = os.fork()
if child == 0:
    result = function()
    print("LEAK: a vsock by int 0x80" if result >= 0 else f"DENIED: {result}", flush=True)
    os._exit(0)
_, status = os.waitpid(child, 0)
print("DENIED: the child ended with", status)
