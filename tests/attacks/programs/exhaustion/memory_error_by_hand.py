# tries: to look as if it had run out of memory, which a search might answer with more of it
# expect: out_of_memory
# holds: oom_kills == 0
# holds: reason has by hand
raise MemoryError("by hand")
