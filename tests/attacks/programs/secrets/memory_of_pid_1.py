# tries: to look into PID 1 through /proc: memory, mappings, descriptors, root, executable, stack
# expect: success
# holds: stdout has DENIED
import os

for name in ("mem", "maps", "smaps", "environ", "auxv", "stack", "syscall", "personality", "pagemap", "io", "patch_state"):
    try:
        with open(f"/proc/1/{name}", "rb") as file:
            content = file.read(64) if name != "mem" else b"opened"
    except OSError:
        print("DENIED:", name)
    else:
        if content:
            print(f"LEAK: /proc/1/{name} begins with {content!r}")
for name in ("fd", "fdinfo", "map_files", "ns"):
    try:
        found = [os.readlink(f"/proc/1/{name}/{entry}") for entry in os.listdir(f"/proc/1/{name}")]
    except OSError:
        print("DENIED:", name)
    else:
        print(f"LEAK: /proc/1/{name} holds {found[:3]}")
for name in ("root", "cwd", "exe"):
    try:
        print(f"LEAK: /proc/1/{name} is", os.readlink(f"/proc/1/{name}"))
    except OSError:
        print("DENIED:", name)
