# tries: to choke whoever lists its folders with as many long names as fit
# expect: success
# limits: inodes=4000
# collects: models/
import os

os.mkdir("/output/models")
for number in range(3000):
    open(f"/output/models/{number:0240}", "w").close()
for folder in ("/work", "/tmp", "/dev/shm"):
    for number in range(3000):
        open(f"{folder}/{number:0240}", "w").close()
