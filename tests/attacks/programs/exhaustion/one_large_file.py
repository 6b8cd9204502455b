# tries: to write one file that is larger than its limit, also by truncate, seek and fallocate
# expect: success
# limits: work_mb=40
# holds: stdout has DENIED
# control: limits file_mb=60 work_mb=60
import os
import signal

signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
for name, attempt in (
    ("write", lambda fd: [os.write(fd, bytes(1 << 20)) for _ in range(20)]),
    ("truncate", lambda fd: os.ftruncate(fd, 20 << 20)),
    ("seek", lambda fd: os.pwrite(fd, b"x", 20 << 20)),
    ("allocate", lambda fd: os.posix_fallocate(fd, 0, 20 << 20)),
):
    descriptor = os.open(f"/tmp/{name}", os.O_CREAT | os.O_RDWR)
    try:
        attempt(descriptor)
    except OSError as error:
        print("DENIED:", name, error)
    if os.fstat(descriptor).st_size > 10 << 20:
        print("LEAK:", name, "made", os.fstat(descriptor).st_size, "bytes")
    os.close(descriptor)
    os.remove(f"/tmp/{name}")
