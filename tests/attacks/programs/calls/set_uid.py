# tries: to become root or another user: setuid, a set-uid file, saved ids, groups, capabilities, file capabilities
# expect: success
# holds: stdout has DENIED
import ctypes
import os
import struct
import subprocess
import sys

me = os.getuid()
for name, arguments in (
    ("setuid", (0,)), ("setgid", (0,)), ("setreuid", (0, 0)), ("setresuid", (0, 0, 0)), ("setresgid", (0, 0, 0)),
    ("setuid", (me + 1,)), ("setresuid", (10002, 10002, 10002)), ("setresuid", (20_001, 20_001, 20_001)), ("setresuid", (10001, 10001, 10001)), ("setgroups", ([0],)), ("setgid", (me + 1,)),
):
    if arguments[0] == me or me in arguments:
        continue
    try:
        getattr(os, name)(*arguments)
        print("LEAK:", name, arguments)
    except OSError as error:
        print("DENIED:", name, error)
for folder in ("/tmp", "/work"):
    path = f"{folder}/root-shell"
    with open(path, "w") as file:
        file.write("#!/bin/sh\nid\n")
    try:
        os.chown(path, 0, 0)
        print("LEAK: a file of root's")
    except OSError as error:
        print("DENIED:", error)
    try:
        os.chmod(path, 0o6755)
        os.setxattr(path, "security.capability", struct.pack("<IIIII", 0x02000001, 0xFFFFFFFF, 0, 0xFFFFFFFF, 0))
        print("LEAK: a file with capabilities")
    except OSError as error:
        print("DENIED:", error)
libc = ctypes.CDLL(None, use_errno=True)
if libc.capset(struct.pack("=Ii", 0x20080522, 0), struct.pack("=6I", *[0xFFFFFFFF] * 6)) == 0:
    print("LEAK: capabilities")
for path in ("/bin/su", "/usr/bin/sudo", "/usr/bin/passwd", "/bin/mount", "/usr/bin/newuidmap"):
    if os.path.exists(path):
        done = subprocess.run([path, "--version"], capture_output=True, check=False)
        found = subprocess.run([sys.executable, "-c", "import os; print(os.geteuid())"], capture_output=True, check=False)
        if found.stdout.strip() == b"0":
            print("LEAK: root by", path, done)
if 0 in (os.getuid(), os.geteuid(), *os.getgroups()):
    print("LEAK: it is root")
