# tries: to leave a daemon that watches for the next program and reads or changes its files and memory
# expect: success
# holds: processes_killed >= 1
# control: plain
import os
import time

folder = os.environ["HOME"]
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        for number in (0, 1, 2):
            os.close(number)
        for _ in range(400):
            try:
                with open(f"{folder}/program-was-here", "w") as file:
                    file.write("daemon")
                os.chmod(f"{folder}/program-was-here", 0o666)
            except OSError:
                pass
            time.sleep(0.02)
    os._exit(0)
os.wait()
time.sleep(0.1)
# --- the next program of the session ---
import os
import time

path = f"{os.environ['HOME']}/program-was-here"
if os.path.exists(path):
    os.remove(path)
for _ in range(30):
    time.sleep(0.02)
    if os.path.exists(path):
        print("LEAK: a daemon lives on")
        break
