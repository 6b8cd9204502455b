# tries: to have PID 1 killed for want of memory in its place: many processes, each smaller than PID 1 and as dear
# expect: out_of_memory or code_execution_error
# limits: memory_mb=96 processes=400 wall_seconds=15
# holds: oom_kills >= 1
import os
import pathlib
import signal
import time

pathlib.Path("/proc/self/oom_score_adj").write_text("0")
while True:
    try:
        if os.fork() == 0:
            block = os.urandom(1 << 18)
            while True:
                signal.pause()
    except OSError:
        time.sleep(0.01)
