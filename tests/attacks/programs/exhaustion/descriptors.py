# tries: to open as many files as it can
# expect: success
# holds: stdout has DENIED
# control: limits open_files=4096
import os
import resource

try:
    resource.setrlimit(resource.RLIMIT_NOFILE, (1 << 20, 1 << 20))
    print("LEAK: raised the limit")
except (OSError, ValueError) as error:
    print("DENIED:", error)
opened = 0
try:
    while opened < 2000:
        os.open("/dev/null", os.O_RDONLY)
        opened += 1
    print("LEAK: opened", opened)
except OSError as error:
    os.closerange(3, 64)  # what runs at the exit needs some
    print("DENIED:", opened, error)
