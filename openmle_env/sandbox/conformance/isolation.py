"""What a program cannot reach, and what it must find: each program alone in its box or, in a session, in its turn."""

from __future__ import annotations

from dataclasses import replace

from openmle_env.sandbox.conformance.cases import DENIED, LIMITS, WRITE, Case
from openmle_env.types import ResultStatus

ISOLATION = (
    Case(
        name="no network",
        program=DENIED
        + """\
import socket
denied("connect", lambda: socket.create_connection(("192.0.2.1", 80), timeout=3))
denied("resolve", socket.gethostbyname, "example.org")
denied("vsock", socket.socket, 40, socket.SOCK_STREAM)
denied("raw", socket.socket, socket.AF_INET, socket.SOCK_RAW)
print([name for _, name in socket.if_nameindex() if name not in ("lo", "tunl0", "sit0", "ip6tnl0")])
""",
        status=ResultStatus.SUBMISSION_MISSING,
        holds=lambda run: run.stdout == "[]\n",
    ),
    Case(
        name="no privilege",
        program=DENIED
        + """\
import ctypes, os, resource
assert 0 not in (*os.getresuid(), *os.getresgid(), *os.getgroups()), "root"
status = dict(line.split(":\\t") for line in open("/proc/self/status").read().splitlines() if ":\\t" in line)
assert not any(int(status[name], 16) for name in ("CapInh", "CapPrm", "CapEff", "CapAmb")), "capabilities"
assert status["NoNewPrivs"] == "1" and status["Seccomp"] == "2", "filter"
denied("become root", os.setuid, 0)
denied("PID 1's limits", resource.prlimit, 1, resource.RLIMIT_NOFILE, (8, 8))
denied("PID 1's memory", open, "/proc/1/mem", "rb")
denied("PID 1's descriptors", os.listdir, "/proc/1/fd")
denied("PID 1's environment", open, "/proc/1/environ", "rb")
libc = ctypes.CDLL(None, use_errno=True)
assert libc.unshare(0x10000000) == -1, "unshare"
assert libc.ptrace(16, 1, 0, 0) == -1, "ptrace"
assert libc.mount(b"none", b"/tmp", b"tmpfs", 0, 0) == -1, "mount"
assert libc.syscall(425, 8, bytes(256)) == -1, "io_uring"
try:
    os.kill(1, 9)
except PermissionError:
    pass  # it is another user's
""",
        status=ResultStatus.SUBMISSION_MISSING,
    ),
    Case(
        name="no memory that nobody counts",
        program="""\
import ctypes
libc = ctypes.CDLL(None, use_errno=True)
assert libc.memfd_create(b"hidden", 0) == -1, "memfd_create"
assert libc.shmget(0, 1 << 20, 0o1600) == -1, "shmget"
assert libc.semget(0, 1, 0o1600) == -1, "semget"
assert libc.msgget(0, 0o1600) == -1, "msgget"
""",
        status=ResultStatus.SUBMISSION_MISSING,
    ),
    Case(
        name="shared memory and workers",
        program="""\
import multiprocessing, os
from multiprocessing.shared_memory import SharedMemory

def fill(name):
    block = SharedMemory(name)
    block.buf[0] = 7
    block.close()

if __name__ == "__main__":
    block = SharedMemory(create=True, size=1 << 20)
    assert "/dev/shm/" + block.name in [f"/dev/shm/{name}" for name in os.listdir("/dev/shm")]
    worker = multiprocessing.get_context("fork").Process(target=fill, args=(block.name,))
    worker.start()
    worker.join()
    print(worker.exitcode, block.buf[0])
    block.close()
    block.unlink()
    with multiprocessing.get_context("forkserver").Pool(2) as pool:
        print(pool.map(abs, [-1, -2]))
    from joblib import Parallel, delayed
    print(Parallel(n_jobs=2)(delayed(abs)(n) for n in (-3, -4)))
""",
        status=ResultStatus.SUBMISSION_MISSING,
        holds=lambda run: run.stdout == "0 7\n[1, 2]\n[3, 4]\n",
    ),
    Case(
        # The number is the program's own: what the box itself needs does not count. Before Linux 5.14 all processes of
        # an ordinary user are counted together, and the two that wait for the box may leave room for as many more.
        name="number of processes",
        program="""\
import threading
done, count = threading.Event(), 1
try:
    while count < 100:
        threading.Thread(target=done.wait).start()
        count += 1
except RuntimeError:
    pass
done.set()
print(count)
""",
        status=ResultStatus.SUBMISSION_MISSING,
        limits=replace(LIMITS, processes=32),
        holds=lambda run: run.stdout in ("32\n", "33\n", "34\n"),
    ),
    Case(
        name="read-only system",
        program=DENIED
        + """\
import os, sys
libraries = os.path.dirname(os.__file__)
for folder in ("/", "/etc", "/usr", "/opt/openmle", "/opt/venv/bin", "/data", "/dev", "/proc/sys/kernel", libraries):
    denied(f"write to {folder}", open, f"{folder}/new", "w")
for folder in ("/work", "/tmp", "/output", "/dev/shm"):
    open(f"{folder}/new", "w").close()
denied("more than the folder holds", lambda: [open(f"/tmp/{n}", "wb").write(bytes(8 << 20)) for n in range(9)])
denied("a larger file than allowed", lambda: open("/output/large", "wb").write(bytes(17 << 20)))
""",
        status=ResultStatus.SUBMISSION_MISSING,
    ),
    Case(
        name="nothing of the host",
        program="""\
import importlib.util, os, sys
allowed = set("PATH HOME USER LANG LC_CTYPE TMPDIR MPLCONFIGDIR DATA_DIR OUTPUT_DIR LD_LIBRARY_PATH".split())
allowed |= {"HDF5_USE_FILE_LOCKING", "NVIDIA_VISIBLE_DEVICES"}
extra = [name for name in os.environ if name not in allowed and not name.startswith("PYTHON")]
assert not [name for name in extra if not name.endswith("_THREADS")], extra
assert os.environ["DATA_DIR"] == "/data" and os.environ["OUTPUT_DIR"] == "/output"
assert sys.executable == "/opt/venv/bin/python" and os.getcwd() == "/work"
assert __file__ == "/work/program.py" and __name__ == "__main__"
assert importlib.util.find_spec("openmle_env") is None
for folder in ("/root", "/home", "/srv", "/mnt", "/media"):
    assert not os.path.isdir(folder) or not os.access(folder, os.R_OK) or not os.listdir(folder), folder
assert len([name for name in os.listdir("/proc") if name.isdigit()]) <= 3
assert os.read(0, 1) == b""
import sklearn
folder = os.path.dirname(sklearn.__file__)
for name in ("tests", "datasets/tests", "datasets/data"):
    path = os.path.join(folder, name)
    assert not os.path.isdir(path) or not os.listdir(path), path
for folder, names, files in os.walk("/"):
    if folder == "/":
        names[:] = [name for name in names if name not in ("proc", "sys", "dev")]
    assert not any("titanic" in name.lower() or name == "test_answer.csv" for name in (*names, *files)), folder
""",
        status=ResultStatus.SUBMISSION_MISSING,
    ),
    Case(
        name="link as submission",
        program="import os\nos.symlink('/data/sample_submission.csv', '/output/submission.csv')\n",
        status=ResultStatus.SUBMISSION_INVALID,
        holds=lambda run: "a symbolic link" in run.reason and not run.submission.content,
    ),
    Case(
        name="named pipe as submission",
        program="import os\nos.mkfifo('/output/submission.csv')\n",
        status=ResultStatus.SUBMISSION_INVALID,
        holds=lambda run: "a named pipe" in run.reason,
    ),
    Case(
        name="submission too large",
        program="open('/output/submission.csv', 'wb').truncate(15 << 20)\n",
        status=ResultStatus.SUBMISSION_INVALID,
        holds=lambda run: "too large" in run.reason and not run.submission.content,
    ),
    Case(
        name="flood of output",
        program="print('first')\nfor _ in range(300):\n    print('x' * 9999)\nprint('last')\n",
        status=ResultStatus.SUBMISSION_MISSING,
        holds=lambda run: (
            run.stdout.startswith("first\n")
            and run.stdout.endswith("last\n")
            and len(run.stdout) < 70_000
            and run.stdout_bytes == 3_000_011
            and "cut" in run.notes[-1]
        ),
    ),
    Case(
        name="process that outlives the program",
        program=WRITE + "import subprocess\nsubprocess.Popen(['/bin/sleep', '600'], start_new_session=True)\n",
        status=ResultStatus.SUCCESS,
        holds=lambda run: run.processes_killed >= 1,
    ),
    Case(
        name="uncaught MemoryError",
        program="raise MemoryError('cannot allocate')\n",
        status=ResultStatus.OUT_OF_MEMORY,
    ),
    Case(
        name="segmentation fault",
        program="import ctypes\nctypes.string_at(0)\n",
        status=ResultStatus.CODE_EXECUTION_ERROR,
        holds=lambda run: run.exit_code == -11 and "SIGSEGV" in run.reason,
    ),
    Case(
        name="forged report",
        program="""\
import os, struct
frame = b'{"end": "exit", "exit_code": 0}'
for descriptor in range(64):
    try:
        os.write(descriptor, b"F" + struct.pack(">I", len(frame)) + frame)
    except OSError:
        pass
raise SystemExit(4)
""",
        status=ResultStatus.CODE_EXECUTION_ERROR,
        holds=lambda run: run.exit_code == 4,
    ),
)
