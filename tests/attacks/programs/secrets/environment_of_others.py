# tries: to read the environment and the command lines of every other process: PID 1, the warm parent, the host's
# expect: success
# holds: stdout has DENIED
# control: plain
import os

for pid in sorted(filter(str.isdigit, os.listdir("/proc")), key=int):
    if int(pid) == os.getpid():
        continue
    try:
        content = open(f"/proc/{pid}/environ", "rb").read()
    except OSError as error:
        print("DENIED:", error)
    else:
        if content:
            print(f"LEAK: the environment of {pid}:", content[:60])
    try:
        command = open(f"/proc/{pid}/cmdline", "rb").read()
    except OSError:
        continue
    if command and b"supervisor" not in command and b"child" not in command and b"python" not in command:
        print(f"LEAK: process {pid} is", command[:80])
