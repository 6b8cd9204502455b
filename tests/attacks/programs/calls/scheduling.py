# tries: to get more of the processors than others: real time, deadlines, priorities, groups of the scheduler
# expect: success
# holds: stdout has DENIED
import ctypes
import os
import pathlib
import struct

libc = ctypes.CDLL(None, use_errno=True)
x86 = os.uname().machine == "x86_64"
deadline = struct.pack("=IIQiIQQQ", 48, 6, 0, 0, 0, 5_000_000, 10_000_000, 10_000_000)
for name, attempt in (
    ("priority", lambda: os.nice(-5)),
    ("real time", lambda: os.sched_setscheduler(0, os.SCHED_RR, os.sched_param(1))),
    ("group", lambda: pathlib.Path("/proc/self/autogroup").write_text("-10")),
    ("deadline", lambda: libc.syscall(314 if x86 else 274, 0, deadline, 0) and 1 / 0),
    ("real time of the disk", lambda: libc.syscall(251 if x86 else 30, 1, 0, 1 << 13) and 1 / 0),
    ("latency", lambda: pathlib.Path("/dev/cpu_dma_latency").write_bytes(bytes(4))),
):
    try:
        attempt()
        print("LEAK: got", name)
    except (OSError, ZeroDivisionError) as error:
        print("DENIED:", name, error)
