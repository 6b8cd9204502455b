# tries: to escape being killed: each process starts its successor and ends, faster than anybody can look
# expect: success or code_execution_error or timeout
# limits: wall_seconds=4
# holds: stdout has done
import os

print("done", flush=True)
for _ in range(4):
    if os.fork() == 0:
        os.setsid()
        while True:
            try:
                if os.fork():
                    os._exit(0)
            except OSError:
                pass
