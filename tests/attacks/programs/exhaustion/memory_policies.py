# tries: to take memory of the kernel that is charged to no control group, as policies for the pages of sparse files
# expect: success or out_of_memory or code_execution_error
# control: plain
import ctypes
import errno
import os
import time

libc = ctypes.CDLL(None, use_errno=True)
libc.mmap.restype = ctypes.c_void_p
libc.syscall.restype = ctypes.c_long
number = ctypes.c_long(237 if os.uname().machine == "x86_64" else 235)
mask, size, made, code = ctypes.c_ulong(1), 4 << 20, 0, 0
for file in range(50):
    descriptor = os.open(f"{os.environ['TMPDIR']}/sparse{file}", os.O_CREAT | os.O_RDWR)
    os.ftruncate(descriptor, size)
    start = libc.mmap(None, ctypes.c_size_t(size), 3, 1, descriptor, ctypes.c_long(0))
    for page in range(0, size // 4096, 2):
        address = ctypes.c_void_p(start + page * 4096)
        if libc.syscall(number, address, ctypes.c_ulong(4096), ctypes.c_long(2), ctypes.byref(mask), ctypes.c_ulong(64), ctypes.c_long(0)):
            code = ctypes.get_errno()
            break
        made += 1
    libc.munmap(ctypes.c_void_p(start), ctypes.c_size_t(size))
    os.close(descriptor)
    if code:
        break
print("DENIED:" if code else "made", errno.errorcode.get(code), made)
time.sleep(1)  # long enough for whoever watches
if made > 20_000:
    print("LEAK: the kernel keeps", made, "policies, 353 bytes each")
