# tries: to trace PID 1, its parent and its own child, and to read their memory with process_vm_readv
# expect: success
# holds: stdout has DENIED
# control: plain
import ctypes
import os
import signal
import time

libc = ctypes.CDLL(None, use_errno=True)
libc.ptrace.argtypes = [ctypes.c_long] * 4
child = os.fork()
if child == 0:
    time.sleep(10)
    os._exit(0)
targets = [int(name) for name in os.listdir("/proc") if name.isdigit() and int(name) != os.getpid()]
if os.environ["HOME"] != "/work":
    targets = [child]
for pid in targets:
    for request in (16, 0x4206):  # attach, seize
        if libc.ptrace(request, pid, 0, 0) == 0:
            print("LEAK: traces", pid)
            libc.ptrace(17, pid, 0, 0)
        else:
            print("DENIED:", pid, os.strerror(ctypes.get_errno()))
    buffer = ctypes.create_string_buffer(8)
    local = (ctypes.c_void_p * 2)(ctypes.addressof(buffer), 8)
    remote = (ctypes.c_void_p * 2)(ctypes.addressof(buffer), 8)
    if libc.process_vm_readv(pid, local, 1, remote, 1, 0) >= 0:
        print("LEAK: read the memory of", pid)
    else:
        print("DENIED:", pid, os.strerror(ctypes.get_errno()))
os.kill(child, signal.SIGKILL)
os.waitpid(child, 0)
