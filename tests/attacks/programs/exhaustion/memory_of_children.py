# tries: to take more memory than its limit in children, each of which is small enough
# expect: out_of_memory or success or code_execution_error
# limits: memory_mb=96
# holds: oom_kills >= 1
# control: limits memory_mb=512
import os
import time

children, (read, write) = [], os.pipe()
for number in range(6):
    pid = os.fork()
    if pid == 0:
        block = os.urandom(1 << 20) * 32
        os.write(write, b"x")
        time.sleep(3)
        os._exit(0)
    children.append(pid)
if all(os.waitpid(pid, 0)[1] == 0 for pid in children):
    print("LEAK: six children had 192 MiB together")
