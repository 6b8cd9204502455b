# tries: to take more memory than its limit, in one process
# expect: out_of_memory
# limits: memory_mb=96
# holds: oom_kills >= 1
# holds: reason has 96 MiB
# holds(uncgrouped): reason has 96 MiB
# control: limits memory_mb=512
blocks = []
for _ in range(12):
    blocks.append(b"x" * (16 << 20))
print("LEAK: it has", sum(map(len, blocks)) >> 20, "MiB")
