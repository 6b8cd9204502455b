# tries: to use whatever descriptors it inherited: files, folders or sockets of the supervisor or the host
# expect: success
# holds: stdout has DENIED
import fcntl
import os
import stat

for number in range(256):
    try:
        entry = os.fstat(number)
    except OSError:
        continue
    target = os.readlink(f"/proc/self/fd/{number}")
    if stat.S_ISSOCK(entry.st_mode) or stat.S_ISREG(entry.st_mode) or stat.S_ISDIR(entry.st_mode):
        print(f"LEAK: descriptor {number} is {target}")
    elif stat.S_ISFIFO(entry.st_mode) and number > 2:
        flags = fcntl.fcntl(number, fcntl.F_GETFL)
        for mode in (os.O_RDONLY, os.O_RDWR):
            try:
                again = os.open(f"/proc/self/fd/{number}", mode | os.O_NONBLOCK)
            except OSError as error:
                print("DENIED:", error)
                continue
            if flags & os.O_ACCMODE == os.O_WRONLY:
                # Its own end to the supervisor, turned around: at most what it wrote itself can come out of it.
                try:
                    data = os.read(again, 1 << 16)
                except OSError:
                    data = b""
                if data:
                    print(f"LEAK: read {data[:40]!r} from a pipe to the supervisor")
    print("DENIED:", number, target)
