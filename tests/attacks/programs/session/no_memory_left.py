# tries: to be killed for memory, so that the next program of the box is killed too
# expect: out_of_memory
# limits: memory_mb=128
blocks = []
while True:
    blocks.append(b"x" * (8 << 20))
# --- the next program of the session ---
block = b"x" * (48 << 20)
print(len(block))
