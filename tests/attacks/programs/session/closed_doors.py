# tries: to leave folders and attributes that keep the next program out, or whoever cleans up
# expect: success
import os

for place in ("/work", "/tmp", "/output", "/dev/shm"):
    os.makedirs(f"{place}/a/b/c", exist_ok=True)
    with open(f"{place}/a/b/c/file", "w") as file:
        file.write("poison")
    for attempt in (
        lambda: os.setxattr(place, "user.poison", b"x"),
        lambda: os.setxattr(place, "system.posix_acl_default", bytes.fromhex("0200000001000000ffffffff04000000ffffffff20000000ffffffff")),
        lambda: os.chmod(place, 0o1000),
        lambda: os.chown(place, -1, os.getgid()),
    ):
        try:
            attempt()
        except OSError:
            pass
    try:
        for path in (f"{place}/a/b/c", f"{place}/a/b", f"{place}/a"):
            os.chmod(path, 0)
    except OSError:
        pass
# --- the next program of the session ---
import os

for place in ("/work", "/tmp", "/output", "/dev/shm"):
    try:
        with open(f"{place}/mine", "w") as file:
            file.write("x")
        if set(os.listdir(place)) - {"mine", "program.py"}:
            print("LEAK:", place, "holds", os.listdir(place))
        if os.listxattr(place):
            print("LEAK: attributes of", place, os.listxattr(place))
    except OSError as error:
        print("LEAK: kept out of", place, error)
