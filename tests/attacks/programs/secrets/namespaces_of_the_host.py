# tries: to learn from its control group and namespaces where the box stands, and to enter others
# expect: success
# holds: stdout has DENIED
import ctypes
import os

libc = ctypes.CDLL(None, use_errno=True)
for pid in filter(str.isdigit, os.listdir("/proc")):
    for name in ("mnt", "net", "pid", "ipc", "uts", "user", "cgroup", "time"):
        try:
            descriptor = os.open(f"/proc/{pid}/ns/{name}", os.O_RDONLY)
        except OSError as error:
            print("DENIED:", error)
            continue
        if libc.setns(descriptor, 0) == 0:
            print("LEAK: entered", pid, name)
        elif int(pid) != os.getpid():
            print("LEAK: opened a namespace of", pid, name)
        os.close(descriptor)
print("DENIED: none was entered")
