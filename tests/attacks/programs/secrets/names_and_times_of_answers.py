# tries: to learn from errors and times whether the host's folder of answers exists, without reading it
# expect: success
# holds: stdout has DENIED
# control: plain
import os
import time

folder = os.environ["ATTACK_FOLDER"]


def seconds(path):
    best = 1.0
    for _ in range(300):
        started = time.perf_counter()
        try:
            os.stat(path)
        except OSError as error:
            kind = error.errno
        else:
            kind = 0
        best = min(best, time.perf_counter() - started)
    return kind, best


there, absent = seconds(f"{folder}/private/test_answer.csv"), seconds(f"{folder}-absent/private/test_answer.csv")
if there[0] != absent[0]:
    print("LEAK: what exists on the host gives error", there[0], "and what does not", absent[0])
for line in open("/proc/self/mountinfo"):
    if "/private" in line or "answer" in line:
        print("LEAK: the mounts name the answers:", line)
print("DENIED: the same error for both")
