# tries: to go on writing output and files after its end
# expect: success
# collects: submission.csv
# holds: stdout has done
# holds: submission has id,y
# holds: processes_killed >= 1
import os

with open("/output/submission.csv", "w") as file:
    file.write("id,y\n1,0\n")
print("done", flush=True)
for _ in range(3):
    if os.fork() == 0:
        while True:
            os.write(1, b"more\n" * 100)
            with open("/output/later", "a") as file:
                file.write("more")
import time

time.sleep(0.2)
