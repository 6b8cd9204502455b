# tries: to read what an earlier program of the session was, did or printed
# expect: success
# holds: stdout has words that only
import os

with open("/tmp/notes", "w") as file:
    file.write("poisonous-words")
block = [b"poisonous" + b"-words"] * 1000
print("words that only the first program knows")
# --- the next program of the session ---
import gc
import os

wanted = "poisonous" + "-words"
for value in gc.get_objects():
    if isinstance(value, (list, tuple)) and any(isinstance(item, (str, bytes)) and str(item).find(wanted) >= 0 for item in value if not isinstance(item, (list, tuple))):
        if "wanted" not in str(value)[:200] and "poisonous" not in str(value)[:40]:
            print("LEAK: in memory", str(value)[:80])
for pid in filter(str.isdigit, os.listdir("/proc")):
    if int(pid) != os.getpid():
        try:
            memory = open(f"/proc/{pid}/mem", "rb")
            print("LEAK: may read the memory of", pid, memory)
        except OSError as error:
            print("DENIED:", error)
