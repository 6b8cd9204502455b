# tries: to take the huge pages of the machine, which are charged to no limit of memory
# expect: success
# holds: stdout has DENIED
# control: plain
import ctypes
import errno

MAP_HUGETLB = 0x40000
libc = ctypes.CDLL(None, use_errno=True)
libc.mmap.restype = ctypes.c_void_p
for flags in (0x22, 0x21, 0x22 | 21 << 26, 0x22 | 30 << 26):  # private, shared, of 2 MiB, of 1 GiB
    start = libc.mmap(None, ctypes.c_size_t(2 << 20), 3, flags | MAP_HUGETLB, -1, ctypes.c_long(0))
    code = ctypes.get_errno()
    if start == ctypes.c_void_p(-1).value and code in (errno.EPERM, errno.ENOSYS, errno.EINVAL):
        print("DENIED:", errno.errorcode[code])
    else:
        print("LEAK: the kernel looked for huge pages:", errno.errorcode.get(code, "and gave some"))
