# tries: to exceed the number of files by folders, symbolic links, pipes and hard links
# expect: success
# expect(bubblewrap): code_execution_error
# holds: stdout has DENIED
# holds(bubblewrap): reason has more files than its limit
# control: limits inodes=5000
import os
import time

attempts = {"folders": os.mkdir, "links": lambda path: os.symlink("x" * 200, path), "pipes": os.mkfifo}
for name, attempt in attempts.items():
    try:
        for number in range(600):
            attempt(f"/tmp/{name}{number}")
        time.sleep(0.5)
        print("LEAK: made 600", name)
    except OSError as error:
        print("DENIED:", name, error)
