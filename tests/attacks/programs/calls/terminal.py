# tries: to push characters into a terminal of whoever started it, by TIOCSTI and TIOCLINUX
# expect: success
# holds: stdout has DENIED
import fcntl
import os
import termios

for path in ("/dev/tty", "/dev/console", "/proc/self/fd/0", "/proc/self/fd/1", "/proc/self/fd/2"):
    try:
        descriptor = os.open(path, os.O_RDWR | os.O_NOCTTY | os.O_NONBLOCK)
    except OSError as error:
        print("DENIED:", error)
        continue
    for request in (termios.TIOCSTI, 0x541C):
        try:
            fcntl.ioctl(descriptor, request, b"\n")
            print("LEAK: pushed into", path)
        except OSError as error:
            print("DENIED:", path, error)
