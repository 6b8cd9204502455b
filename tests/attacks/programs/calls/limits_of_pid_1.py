# tries: to take descriptors, memory or CPU time from PID 1 or its parent by prlimit, priority or affinity
# expect: success
# holds: stdout has DENIED
import os
import pathlib
import resource

others = [int(name) for name in os.listdir("/proc") if name.isdigit() and int(name) != os.getpid()]
for pid in others:
    for kind in (resource.RLIMIT_NOFILE, resource.RLIMIT_AS, resource.RLIMIT_CPU, resource.RLIMIT_FSIZE, resource.RLIMIT_NPROC):
        try:
            resource.prlimit(pid, kind, (0, resource.prlimit(0, kind)[1]))
            print("LEAK: limited", pid, kind)
        except OSError as error:
            print("DENIED:", error)
    for name, attempt in (
        ("priority", lambda: os.setpriority(os.PRIO_PROCESS, pid, 19)),
        ("all priorities", lambda: os.setpriority(os.PRIO_USER, 0, 19)),
        ("group's priority", lambda: os.setpriority(os.PRIO_PGRP, 0, 19)),
        ("affinity", lambda: os.sched_setaffinity(pid, {0})),
        ("scheduler", lambda: os.sched_setscheduler(pid, os.SCHED_IDLE, os.sched_param(0))),
        ("real time", lambda: os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(50))),
        ("oom score", lambda: pathlib.Path(f"/proc/{pid}/oom_score_adj").write_text("1000")),
        ("own oom score", lambda: pathlib.Path("/proc/self/oom_score_adj").write_text("-1")),
    ):
        try:
            attempt()
            print("LEAK: changed the", name, "of", pid)
        except OSError as error:
            print("DENIED:", error)
