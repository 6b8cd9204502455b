# tries: to reserve a terabyte of addresses, and to lock memory
# expect: success or code_execution_error
# holds: stdout has DENIED
import ctypes
import mmap

libc = ctypes.CDLL(None, use_errno=True)
try:
    area = mmap.mmap(-1, 1 << 40, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    print("reserved")
except (OSError, ValueError, OverflowError) as error:
    print("DENIED:", error)
block = mmap.mmap(-1, 1 << 20)
address = ctypes.addressof(ctypes.c_char.from_buffer(block))
if libc.mlock(ctypes.c_void_p(address), 1 << 20) == 0:
    print("LEAK: locked a MiB")
else:
    print("DENIED: lock")
