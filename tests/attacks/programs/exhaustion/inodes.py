# tries: to make very many small files in every writable folder
# expect: success
# expect(bubblewrap): code_execution_error
# holds: stdout has DENIED
# holds(bubblewrap): reason has more files than its limit of 400
# control: limits inodes=5000
import time

for folder in ("/work", "/tmp", "/output", "/dev/shm"):
    try:
        for number in range(1000):
            open(f"{folder}/{number}", "w").close()
        time.sleep(0.5)  # where the number of files is watched and not limited, long enough to be seen
        print("LEAK: made 1,000 files in", folder)
    except OSError as error:
        print("DENIED:", folder, error)
