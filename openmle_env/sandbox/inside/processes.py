"""The processes that PID 1 starts: one that becomes the program, or one from which each program is forked."""

from __future__ import annotations

import json
import os
import select
import signal
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from . import OUTPUT
from .frames import give_up

if TYPE_CHECKING:
    import resource

FORK_SECONDS = 10.0
"""How long a process may take to be forked, on a machine under load."""


class Program:
    """A process that is the program, or is about to become it, and the pipes from it."""

    def __init__(self, pid: int, stdout: int, stderr: int, status: int) -> None:
        self.pid, self.stdout, self.stderr, self.status = pid, stdout, stderr, status


class Ended(NamedTuple):
    """What came of a process: its number, how it ended as `os.wait4` says, CPU time in seconds, memory in bytes."""

    pid: int
    status: int
    cpu_seconds: float
    peak_bytes: int

    @classmethod
    def of(cls, pid: int, status: int, usage: resource.struct_rusage) -> Ended:
        """From the three values of `os.wait4`."""
        return cls(pid, status, usage.ru_utime + usage.ru_stime, usage.ru_maxrss * 1024)


class Waiting(Protocol):
    """A process that has imported its modules and waits."""

    spare: int
    """A process that outlives a program; 0 where there is none."""
    notices: int
    """Where it is readable that a program's process has ended (see `read_notice`); -1 where PID 1 is told itself."""

    def wait_ready(self) -> None:
        """Wait until the modules are imported; leaves when the owner is gone."""
        ...

    def prepare(self, user: int | None) -> None:
        """See to it that a process is there that may become a program of this user."""
        ...

    def start(self, order: dict[str, Any]) -> Program:
        """Have the program begin."""
        ...

    def read_notice(self) -> Ended | None:
        """What has ended; None where the process that waits has."""
        ...


class Once:
    """A process that becomes the program itself."""

    spare, notices = 0, -1

    def __init__(self, config: dict[str, Any]) -> None:
        self.stdout, out = os.pipe()
        self.stderr, err = os.pipe()
        self.status, status = os.pipe()
        job, self._job = os.pipe()
        self.pid = _spawn(config, ("once", str(status), str(job)), keep=(status, job), out=out, err=err)
        for descriptor in (out, err, status, job):
            os.close(descriptor)

    def wait_ready(self) -> None:
        """See `Waiting`."""
        _read_ready(self.status, self.stderr)

    def prepare(self, user: int | None) -> None:
        """See `Waiting`: it is there already, as PID 1's own user."""

    def start(self, order: dict[str, Any]) -> Program:
        """See `Waiting`."""
        _write_order(self._job, order)
        return Program(self.pid, self.stdout, self.stderr, self.status)

    def read_notice(self) -> Ended | None:
        """See `Waiting`: there are none."""
        return None


class Forking:
    """A process from which each program is forked; it runs nothing of them, and is another user's where possible.

    A fork takes longer than all else that a box does for a program: each is made before its program comes.
    """

    def __init__(self, config: dict[str, Any]) -> None:
        import socket  # only boxes that serve several programs pay for it

        self._send_fds = socket.send_fds
        self._control, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.notices = self._control.fileno()
        self._status, status = os.pipe()
        self._stderr, err = os.pipe()
        keep = (status, theirs.fileno())
        self.spare = _spawn(config, ("forks", str(status), str(theirs.fileno())), keep=keep, out=err, err=err)
        theirs.close()
        os.close(status)
        os.close(err)
        self._job = -1
        self._next: Program | None = None

    def wait_ready(self) -> None:
        """See `Waiting`."""
        _read_ready(self._status, self._stderr)

    def prepare(self, user: int | None) -> None:
        """Fork the next process; gives the box up where none comes."""
        stdout, out = os.pipe()
        stderr, err = os.pipe()
        status, their_status = os.pipe()
        their_job, self._job = os.pipe()
        theirs = (out, err, their_status, their_job)
        try:
            self._send_fds(self._control, [b"J" if user is None else b"J%d" % user], theirs)
        except OSError as error:
            give_up(f"the process to fork from is gone: {error}")
        for descriptor in theirs:
            os.close(descriptor)
        if not select.select([status], [], [], FORK_SECONDS)[0]:
            give_up(f"no process was forked within {FORK_SECONDS:g} s")
        said = os.read(status, 64)
        if not said.startswith(b"P"):
            give_up("no process was forked: " + os.read(stderr, 1 << 16).decode(errors="replace").strip()[-500:])
        self._next = Program(int(said[1:]), stdout, stderr, status)

    def start(self, order: dict[str, Any]) -> Program:
        """See `Waiting`."""
        program, self._next = self._next, None
        if program is None:
            give_up("no process was prepared")
        _write_order(self._job, order)
        return program

    def read_notice(self) -> Ended | None:
        """See `Waiting`."""
        words = self._control.recv(256).split()
        if not words:
            return None
        return Ended(int(words[0]), int(words[1]), float(words[2]), int(words[3]))


def _write_order(job: int, order: dict[str, Any]) -> None:
    rest = memoryview(json.dumps(order).encode())
    try:
        while rest:
            rest = rest[os.write(job, rest) :]
    except BrokenPipeError:
        pass  # the process is dead already; its exit is reported like any other
    os.close(job)


def _spawn(config: dict[str, Any], arguments: tuple[str, ...], *, keep: tuple[int, ...], out: int, err: int) -> int:
    for descriptor in keep:
        os.set_inheritable(descriptor, True)  # noqa: FBT003  positional only
    return os.posix_spawn(
        config["python"],
        ["python", "-c", config["child"], *arguments, str(config["nice"]), ",".join(config["modules"])],
        environment(config["threads"]),
        file_actions=[
            (os.POSIX_SPAWN_OPEN, 0, "/dev/null", os.O_RDONLY, 0),
            (os.POSIX_SPAWN_DUP2, out, 1),
            (os.POSIX_SPAWN_DUP2, err, 2),
        ],
        setsid=True,
        setsigdef=signal.valid_signals() - {signal.SIGKILL, signal.SIGSTOP},  # what the box's owner ignores is its own
    )


def _read_ready(status: int, stderr: int) -> None:
    """Wait for what a new process says once it is ready."""
    poll = select.poll()
    poll.register(status, select.POLLIN)
    poll.register(0, getattr(select, "POLLRDHUP", 0))
    while True:
        if status in dict(poll.poll()):
            if not os.read(status, 1):
                words = os.read(stderr, 1 << 16).decode(errors="replace").strip()[-500:] or "no message"
                give_up(f"the program's process ended while it was made: {words}")
            return
        os._exit(71)  # the owner is gone


def environment(threads: int) -> dict[str, str]:
    """The whole environment of a program: an allow-list, nothing inherited but where libraries are found."""
    count = str(threads)
    values = {
        "PATH": "/opt/venv/bin:/usr/local/bin:/usr/bin:/bin",
        "HOME": "/work",
        "USER": "runner",
        "LANG": "C.UTF-8",
        "TMPDIR": "/tmp",  # noqa: S108  the box's own
        "MPLCONFIGDIR": "/tmp/matplotlib",  # noqa: S108  likewise
        "DATA_DIR": "/data",
        "OUTPUT_DIR": OUTPUT,
        "PYTHONUNBUFFERED": "1",
        "PYTHONDONTWRITEBYTECODE": "1",
        "PYTHONFAULTHANDLER": "1",
        # The data are the same files in all boxes: one that locks them must not stop those that read them.
        "HDF5_USE_FILE_LOCKING": "FALSE",
        "OMP_NUM_THREADS": count,
        "OPENBLAS_NUM_THREADS": count,
        "MKL_NUM_THREADS": count,
        "NUMEXPR_NUM_THREADS": count,
    }
    for name in ("CUDA_VISIBLE_DEVICES", "NVIDIA_VISIBLE_DEVICES", "LD_LIBRARY_PATH"):
        if name in os.environ:
            values[name] = os.environ[name]
    return values


def cpu_seconds_of(pid: int) -> float:
    """CPU time that a living process has used."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:  # noqa: PTH123  no pathlib here
            fields = file.read().rpartition(b")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
    except (OSError, IndexError):
        return 0.0


def others(spare: int) -> list[int]:
    """The processes of the box beside PID 1 and the one that is spared."""
    return [int(name) for name in os.listdir("/proc") if name.isdigit() and int(name) not in (1, spare)]  # noqa: PTH208  likewise
