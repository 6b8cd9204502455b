# tries: to take memory as page tables, by reading every second MiB of large areas that hold nothing
# expect: success or out_of_memory or code_execution_error
# limits: memory_mb=64
# open(uncgrouped): the watch does not see what the kernel's own tables hold
# control: limits memory_mb=1024
import mmap
import os
import time

NO_RESERVE = 0x4000
children = []
try:
    for _ in range(30):
        ready, tell = os.pipe()
        pid = os.fork()
        if pid == 0:
            try:
                area = mmap.mmap(-1, 3 << 30, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | NO_RESERVE, prot=mmap.PROT_READ)
                area.madvise(mmap.MADV_NOHUGEPAGE)
                for place in range(0, 3 << 30, 2 << 20):
                    area[place]
                os.write(tell, b"x")
                time.sleep(8)
            finally:
                os._exit(0)
        os.close(tell)
        children.append((pid, ready))
except OSError as error:
    print("DENIED:", error)
ready = sum(os.read(pipe, 1) == b"x" for _, pipe in children)
total = 0
for pid, _ in children:
    try:
        total += sum(int(line.split()[1]) for line in open(f"/proc/{pid}/status") if line.startswith("VmPTE"))
    except OSError:
        continue
print(ready, "children are ready, with", total >> 10, "MiB of page tables")
if ready == 30 and total > 128 << 10:
    print("LEAK: page tables of", total >> 10, "MiB with 64 MiB of memory")
os._exit(0)
