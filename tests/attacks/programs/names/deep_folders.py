# tries: to break whoever walks or removes its folders, by folders far deeper than a path may be long
# expect: success
# limits: inodes=4000 memory_mb=256
# collects: models/
import os

for place in ("/output", "/work", "/tmp", "/dev/shm"):
    os.chdir(place)
    for depth in range(1500):
        name = "models" if depth == 0 else "d" * 60
        os.mkdir(name)
        os.chdir(name)
    open("at-the-bottom", "w").close()
print("done")
