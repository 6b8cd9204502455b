"""What runs after an attack in the same session: an honest program that looks whether anything was left to it.

Sent into the box as text. It prints LEAK for each thing that is not as in a fresh box, and FINE at its end.
"""

# The paths are those of the box; without pathlib, so that it is the kernel's answers that are looked at.
# ruff: noqa: PTH107, PTH109, PTH115, PTH116, PTH123, PTH208, S108

import builtins
import os
import resource
import signal
import socket
import stat
import sys
import threading

WRITABLE = ("/work", "/tmp", "/output", "/dev/shm")


def leak(what):
    print("LEAK:", what)


def lines(path):
    try:
        with open(path, errors="replace") as file:
            return file.read().splitlines()
    except OSError:
        return []


for folder in WRITABLE:
    for name in os.listdir(os.fsencode(folder)):
        if (folder, name) != ("/work", b"program.py"):
            leak(f"{folder} holds {name[:80]!r}")
    entry = os.stat(folder)
    if not os.access(folder, os.R_OK | os.W_OK | os.X_OK):
        leak(f"{folder} has mode {stat.S_IMODE(entry.st_mode):o} of user {entry.st_uid}")
    if os.listxattr(folder):
        leak(f"{folder} has the attributes {os.listxattr(folder)}")
    space = os.statvfs(folder)
    if space.f_bfree < 0.9 * space.f_blocks:
        leak(f"{folder} has {space.f_bfree} of {space.f_blocks} blocks free")
    if space.f_files and space.f_files - space.f_ffree > 20:
        leak(f"{folder} has {space.f_files - space.f_ffree} files")

for pid in map(int, filter(str.isdigit, os.listdir("/proc"))):
    try:
        with open(f"/proc/{pid}/cmdline", "rb") as file:
            command = file.read()
    except OSError:
        continue
    state = [line for line in lines(f"/proc/{pid}/status") if line.startswith(("State", "PPid", "Uid"))]
    # Its parent is what programs are forked from, which may be about to bury the process of an earlier one.
    if pid not in (1, os.getpid(), os.getppid()) and state and "zombie" not in state[0]:
        leak(f"process {pid} is there: {command[:100]!r} {state}")

for line in lines("/proc/net/unix")[1:]:
    if "@" in line:
        leak(f"an abstract socket is there: {line}")
for line in lines("/proc/net/tcp")[1:] + lines("/proc/net/tcp6")[1:]:
    if line.split()[3] == "0A":
        leak(f"somebody listens: {line}")
for table in ("msg", "sem", "shm"):
    for line in lines(f"/proc/sysvipc/{table}")[1:]:
        leak(f"System V {table}: {line}")

for name in os.listdir("/proc/self/fd"):
    try:
        target = os.readlink(f"/proc/self/fd/{name}")
    except OSError:
        continue  # the one that this loop reads from
    if not target.startswith(("pipe:", "/dev/null", "/proc/")):
        leak(f"descriptor {name} is {target}")

mask = os.umask(0o022)
if mask != 0o022:
    leak(f"the umask is {mask:o}")
for number in set(signal.Signals) - {signal.SIGKILL, signal.SIGSTOP}:
    usual = {signal.SIGPIPE: signal.SIG_IGN, signal.SIGXFSZ: signal.SIG_IGN, signal.SIGINT: signal.default_int_handler}
    if signal.getsignal(number) not in (usual.get(number, signal.SIG_DFL), None):  # None: faulthandler's
        leak(f"{number!r} is handled by {signal.getsignal(number)}")
if blocked := signal.pthread_sigmask(signal.SIG_BLOCK, []):
    leak(f"blocked signals: {blocked}")
if signal.getitimer(signal.ITIMER_REAL) != (0.0, 0.0):
    leak("a timer runs")
if os.sched_getaffinity(0) != os.sched_getaffinity(1):
    leak("it is bound to some processors")
if os.sched_getscheduler(0) != os.SCHED_OTHER:
    leak("its scheduler was changed")
if resource.getrlimit(resource.RLIMIT_NOFILE)[0] < 64 or resource.getrlimit(resource.RLIMIT_STACK)[0] == 4096:
    leak(f"limits: {resource.getrlimit(resource.RLIMIT_NOFILE)}, {resource.getrlimit(resource.RLIMIT_STACK)}")
if os.getcwd() != "/work" or os.getuid() == 0 or os.geteuid() == 0:
    leak(f"it is user {os.getuid()} in {os.getcwd()}")
if os.uname().nodename != "sandbox":
    leak(f"the machine is called {os.uname().nodename}")

for name in os.environ:
    if "POISON" in name or name in ("PYTHONPATH", "LD_PRELOAD", "PYTHONSTARTUP", "BASH_ENV"):
        leak(f"the environment has {name}")
for name in sys.modules:
    if "poison" in name:
        leak(f"the module {name} is loaded")
for function in (print, open, len, exec, builtins.__import__, os.listdir, os.getpid):
    if type(function).__name__ != "builtin_function_or_method":
        leak(f"{function} was replaced")
if threading.active_count() != 1 or sys.gettrace() or sys.getprofile():
    leak("threads or a trace function run")
if any("poison" in str(place) for place in (*sys.path, *sys.meta_path, *sys.path_hooks)):
    leak(f"imports go elsewhere: {sys.path}")
if sys.getrecursionlimit() != 1000 or sys.getswitchinterval() > 0.1:
    leak("the interpreter's settings were changed")

for folder in WRITABLE:
    path = f"{folder}/room"
    with open(path, "wb") as file:
        file.write(bytes(4 << 20))
    os.remove(path)
    for number in range(200):
        os.close(os.open(f"{folder}/file{number}", os.O_CREAT | os.O_EXCL | os.O_WRONLY))
    for number in range(200):
        os.remove(f"{folder}/file{number}")
room = bytearray(b"x") * (16 << 20)
children = []
for _ in range(8):
    child = os.fork()
    if child == 0:
        signal.pause()
    children.append(child)
for child in children:
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
thread = threading.Thread(target=len, args=("",))
thread.start()
thread.join()
with socket.socket() as server, socket.socket() as client:
    server.bind(("127.0.0.1", 0))
    server.listen()
    client.connect(server.getsockname())
ends = [os.pipe() for _ in range(20)]
for end in ends:
    os.close(end[0])
    os.close(end[1])

with open("/output/submission.csv", "w") as file:
    file.write("id,y\n1,0\n")
print("FINE")
