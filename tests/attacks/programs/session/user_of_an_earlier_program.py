# tries: to leave files, owned by itself, that a later program of the same user could use, and to be that user
# expect: success
import os
import sys

if hasattr(os, "getxattr"):
    for place in ("/tmp", "/work", "/dev/shm"):
        with open(f"{place}/tool", "w") as file:
            file.write("#!/bin/sh\nid -u\n")
        os.chmod(f"{place}/tool", 0o6755)
        try:
            os.link(sys.executable, f"{place}/linked")
        except OSError:
            pass
        with open(f"{place}/copy", "wb") as file, open("/bin/true" if os.path.exists("/bin/true") else __file__, "rb") as source:
            file.write(source.read())
        os.chmod(f"{place}/copy", 0o6755)
# --- the next program of the session ---
import os

for place in ("/tmp", "/work", "/dev/shm"):
    for name in ("tool", "copy", "linked"):
        if os.path.exists(f"{place}/{name}"):
            print("LEAK: there is", place, name, oct(os.stat(f"{place}/{name}").st_mode))
for line in open("/proc/mounts"):
    device, place, kind, options, *_ = line.split()
    if place in ("/work", "/tmp", "/output", "/dev/shm") and ("nosuid" not in options or "nodev" not in options):
        print("LEAK:", place, "is mounted with", options)
