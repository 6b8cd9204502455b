# tries: to take more memory than its limit as files of the writable folders, which lie in memory
# expect: out_of_memory
# limits: memory_mb=96 work_mb=80 output_mb=80 file_mb=80
# holds: oom_kills >= 1
# control: limits memory_mb=512 work_mb=80 output_mb=80 file_mb=80
block = bytes(1 << 20)
for folder in ("/work", "/tmp", "/output"):
    with open(f"{folder}/block", "wb") as file:
        for _ in range(70):
            file.write(block)
print("LEAK: wrote 210 MiB")
