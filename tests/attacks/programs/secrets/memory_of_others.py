# tries: to read and write the memory and descriptors of every other process, such as the one it was forked from
# expect: success
# holds: stdout has DENIED
import os

for pid in filter(str.isdigit, os.listdir("/proc")):
    if int(pid) == os.getpid():
        continue
    for name, flags in (("mem", os.O_RDONLY), ("mem", os.O_RDWR), ("maps", os.O_RDONLY), ("environ", os.O_RDONLY)):
        try:
            descriptor = os.open(f"/proc/{pid}/{name}", flags)
            if name == "mem" or os.read(descriptor, 10):
                print(f"LEAK: /proc/{pid}/{name} was opened")
        except OSError as error:
            print("DENIED:", error)
    for name in ("fd", "task", "root", "cwd", "exe"):
        path = f"/proc/{pid}/{name}"
        try:
            if name == "fd":
                print("LEAK: descriptors of", pid, [os.readlink(f"{path}/{fd}") for fd in os.listdir(path)])
            elif name == "task":
                for task in os.listdir(path):
                    os.open(f"{path}/{task}/mem", os.O_RDWR)
                    print("LEAK: memory of a thread of", pid)
            else:
                print("LEAK:", name, "of", pid, "is", os.readlink(path))
        except OSError as error:
            print("DENIED:", error)
