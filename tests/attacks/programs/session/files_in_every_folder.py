# tries: to leave files for the next program in every folder that can be written to, visible, hidden and nested
# expect: success
# control: plain
import os

for place in (os.environ["TMPDIR"], os.environ["HOME"], os.environ["OUTPUT_DIR"]) + (("/dev/shm",) if os.environ["HOME"] == "/work" else ()):
    os.makedirs(f"{place}/.poison/inner", exist_ok=True)
    for name in ("poison", ".poison/hidden", ".poison/inner/deep"):
        with open(f"{place}/{name}", "w") as file:
            file.write("poison")
# --- the next program of the session ---
import os

for place in (os.environ["TMPDIR"], os.environ["HOME"], os.environ["OUTPUT_DIR"], "/dev/shm"):
    if "poison" in str(os.listdir(place)):
        print("LEAK: found", place, os.listdir(place))
