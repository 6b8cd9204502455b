# tries: to use more processors than it was given, with many processes that only compute
# expect: timeout
# limits: wall_seconds=2 cpus=0.5
# holds: cpu_seconds <= 1.6
# holds(uncgrouped): reason has 2 s
import os

for _ in range(8):
    if os.fork() == 0:
        break
while True:
    pass
