# tries: to read the kernel's log, addresses and memory, and the disks of the host
# expect: success
# holds: stdout has DENIED
import os

for path in ("/proc/kcore", "/dev/kmsg", "/dev/mem", "/dev/port", "/proc/kpagecount", "/proc/vmallocinfo", "/proc/keys"):
    try:
        with open(path, "rb") as file:
            if file.read(16):
                print("LEAK: read", path)
    except OSError as error:
        print("DENIED:", error)
try:
    if any(not line.startswith("0000000000000000") for line in open("/proc/kallsyms")):
        print("LEAK: addresses of the kernel")
except OSError as error:
    print("DENIED:", error)
for path in ("/sys/kernel/debug", "/sys/kernel/tracing", "/sys/firmware", "/proc/acpi", "/sys/fs/bpf", "/dev/dri", "/dev/mapper"):
    try:
        if os.listdir(path):
            print("LEAK: listed", path)
    except OSError as error:
        print("DENIED:", error)
USUAL = {"null", "zero", "full", "random", "urandom", "tty", "console", "ptmx", "pts", "shm", "mqueue", "fd", "core"}
for name in set(os.listdir("/dev")) - USUAL - {"stdin", "stdout", "stderr"}:
    print("LEAK: the device", name)
