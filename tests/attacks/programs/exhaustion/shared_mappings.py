# tries: to take memory as shared anonymous mappings, written to by children
# expect: out_of_memory or code_execution_error
# limits: memory_mb=96
# holds: oom_kills >= 1
# control: limits memory_mb=512
import mmap
import os

for _ in range(6):
    area = mmap.mmap(-1, 32 << 20)
    pid = os.fork()
    if pid == 0:
        for place in range(0, 32 << 20, 4096):
            area[place] = 1
        os._exit(0)
    os.waitpid(pid, 0)
    for place in range(0, 32 << 20, 4096):
        area[place] = 2
    globals()[f"kept{pid}"] = area
print("LEAK: 192 MiB are shared")
