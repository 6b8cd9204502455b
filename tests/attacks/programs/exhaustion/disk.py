# tries: to fill every writable folder beyond its size
# expect: success
# holds: stdout has DENIED
# control: limits work_mb=64 output_mb=64 shm_mb=64 memory_mb=512
block = bytes(1 << 20)
for folder in ("/work", "/tmp", "/output", "/dev/shm"):
    written = 0
    try:
        for number in range(30):
            with open(f"{folder}/block{number}", "wb") as file:
                file.write(block)
            written += 1
        print("LEAK: wrote", written, "MiB to", folder)
    except OSError as error:
        print("DENIED:", folder, error)
