"""PID 1 of a box: starts the program's process, watches it, ends everything, and reports. Runs no untrusted code.

Started as ``python -I -S supervisor.py`` with its configuration as JSON in ``OPENMLE_BOX`` (made in box.py).
It speaks in frames on descriptor 1: one byte of kind, four bytes of length (big endian), the payload. In order:

    R   ready: the libraries are imported, a job may come
    O E output and error text as it comes, up to the head that is kept;  o e  the tails that are kept
    A   an artifact's description (JSON), followed for a plain file by its contents in D frames
    F   the final report (JSON); nothing follows
    X   the box could not be confined (text); nothing ran

On descriptor 0 it reads one job: a length and JSON, a length and the program's UTF-8 text. The end of that stream means
that the owner is gone: the supervisor leaves, and the kernel ends every process of the box with it.
"""

# Every import delays every box: no pathlib, no contextlib, and late imports where they can overlap with waiting.
# ruff: noqa: PTH116, PTH123, PTH208, SIM105

from __future__ import annotations

import ctypes
import errno
import json
import os
import resource
import select
import signal
import stat
import struct
import sys
import time
from typing import Any, NoReturn

OUTPUT = "/output"
PROGRAM_PATH = "/work/program.py"
CHUNK = 1 << 20
MAX_DEPTH = 64
"""Folders within one another, below a collected folder, that are read back."""
MAX_PATH = 4096
"""The longest path that is read back, in characters."""
WATCH_SECONDS = 0.025
FILE_BYTES = 1024
"""What a file takes beside its contents, as the kernel reckons for files in memory."""
SOCKET_BYTES = 208 * 1024
"""What may wait in a socket whose buffers have their default size; the filter lets nobody change it."""
TCP_BYTES = 10 << 20
"""What may wait in a TCP socket, whose buffers grow by themselves."""
SMAPS_SECONDS = 0.25
"""How long one look at the mappings of processes goes on."""
END_SECONDS = 5.0
"""How long killing may take, and how long pipes that somebody else still holds are drained."""

_PR_SET_PDEATHSIG, _PR_SET_DUMPABLE, _PR_SET_SECCOMP, _PR_SET_NO_NEW_PRIVS = 1, 4, 22, 38
_SECCOMP_MODE_FILTER = 2
_libc = ctypes.CDLL(None, use_errno=True)


def send(kind: bytes, payload: bytes = b"") -> None:
    """Write one frame."""
    rest = memoryview(kind + struct.pack(">I", len(payload)) + payload)
    while rest:
        rest = rest[os.write(1, rest) :]


def send_json(kind: bytes, value: dict[str, Any]) -> None:
    """Write one frame that holds JSON."""
    send(kind, json.dumps(value).encode())


def give_up(message: str) -> NoReturn:
    """Say why this box must not be used, and end it."""
    send(b"X", message.encode())
    os._exit(70)


def receive() -> bytes:
    """Read one length and that many bytes; leaves when the owner is gone."""
    (length,) = struct.unpack(">I", _receive_exactly(4))
    return _receive_exactly(length)


def _receive_exactly(length: int) -> bytes:
    data = bytearray()
    while len(data) < length:
        chunk = os.read(0, min(CHUNK, length - len(data)))
        if not chunk:
            os._exit(71)
        data += chunk
    return bytes(data)


# --- confinement ------------------------------------------------------------------------------------------------------


def confine(config: dict[str, Any]) -> None:
    """Give up every privilege that is left, load the system call filter, and verify both."""
    user = config.get("user")
    if user is not None:
        os.setgroups([])
        os.setresgid(user, user, user)
        os.setresuid(user, user, user)
        _drop_capabilities()  # changing the user leaves the inheritable ones
        # Changing the user cleared the signal for the parent's death. It comes only from a parent that may signal this
        # user, which bubblewrap's process as root may not: the end of the stream, or the owner, ends this box there.
        _prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    _prctl(_PR_SET_DUMPABLE, 0)  # no ptrace of PID 1, no look at its descriptors and memory
    _prctl(_PR_SET_NO_NEW_PRIVS, 1)
    if config.get("seccomp"):
        _load_filter(config["seccomp"])
    _verify(filtered=bool(config.get("seccomp")))


def _prctl(option: int, value: int, address: int = 0) -> None:
    arguments = [ctypes.c_ulong(number) for number in (value, address, 0, 0)]
    if _libc.prctl(ctypes.c_int(option), *arguments) != 0:
        number = ctypes.get_errno()
        raise OSError(number, f"prctl({option}): {os.strerror(number)}")


def _drop_capabilities() -> None:
    header = struct.pack("=Ii", 0x20080522, 0)  # _LINUX_CAPABILITY_VERSION_3, this process
    if _libc.capset(header, bytes(24)) != 0:
        raise OSError(ctypes.get_errno(), "capset failed")


class _FilterProgram(ctypes.Structure):
    _fields_ = (("length", ctypes.c_ushort), ("instructions", ctypes.c_char_p))


def _load_filter(path: str) -> None:
    with open(path, "rb") as file:
        code = file.read()
    program = _FilterProgram(len(code) // 8, code)
    _prctl(_PR_SET_SECCOMP, _SECCOMP_MODE_FILTER, ctypes.addressof(program))


def _verify(*, filtered: bool) -> None:
    """Refuse to go on with any privilege; reads what the kernel says rather than what was asked for."""
    with open("/proc/self/status") as file:
        status = dict(line.rstrip("\n").split(":\t", 1) for line in file if ":\t" in line)
    for name in ("CapInh", "CapPrm", "CapEff", "CapAmb"):
        if int(status.get(name, "0"), 16):
            raise PermissionError(errno.EPERM, f"{name} is {status[name]}, not empty")
    if "0" in status["Uid"].split() or "0" in status["Gid"].split():
        raise PermissionError(errno.EPERM, "still root")
    if status.get("NoNewPrivs", "1").strip() != "1":
        raise PermissionError(errno.EPERM, "no_new_privs is not set")
    if filtered and status.get("Seccomp", "2").strip() != "2":
        raise PermissionError(errno.EPERM, "no system call filter is loaded")


# --- the program's process --------------------------------------------------------------------------------------------


class Child:
    """The process that becomes the program, and the pipes to it."""

    def __init__(self, config: dict[str, Any]) -> None:
        self.stdout, out = os.pipe()
        self.stderr, err = os.pipe()
        self.status, status = os.pipe()
        job, self.job = os.pipe()
        for descriptor in (status, job):
            os.set_inheritable(descriptor, True)  # noqa: FBT003  positional only
        modules = ",".join(config.get("modules", ()))
        self.pid = os.posix_spawn(
            config["python"],
            ["python", config["child"], str(status), str(job), str(config["nice"]), modules],
            environment(config["threads"]),
            file_actions=[
                (os.POSIX_SPAWN_OPEN, 0, "/dev/null", os.O_RDONLY, 0),
                (os.POSIX_SPAWN_DUP2, out, 1),
                (os.POSIX_SPAWN_DUP2, err, 2),
            ],
            setsid=True,
        )
        for descriptor in (out, err, status, job):
            os.close(descriptor)

    def wait_ready(self) -> None:
        """Wait until the child has imported its modules; leaves when the owner is gone."""
        poll = select.poll()
        poll.register(self.status, select.POLLIN)
        poll.register(0, select.POLLRDHUP if hasattr(select, "POLLRDHUP") else 0)
        while True:
            events = dict(poll.poll())
            if self.status in events:
                if not os.read(self.status, 1):
                    give_up("the program's process ended while it was made: " + self._last_words())
                return
            os._exit(71)

    def _last_words(self) -> str:
        return os.read(self.stderr, 1 << 16).decode(errors="replace").strip()[-500:] or "no message"


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
        "OMP_NUM_THREADS": count,
        "OPENBLAS_NUM_THREADS": count,
        "MKL_NUM_THREADS": count,
        "NUMEXPR_NUM_THREADS": count,
    }
    for name in ("CUDA_VISIBLE_DEVICES", "NVIDIA_VISIBLE_DEVICES", "LD_LIBRARY_PATH"):
        if name in os.environ:
            values[name] = os.environ[name]
    return values


# --- watching a run ---------------------------------------------------------------------------------------------------


class Log:
    """One of the two streams: the head is sent as it comes, a tail is kept, every byte is counted."""

    def __init__(self, kind: bytes, keep: int) -> None:
        self.kind, self.total = kind, 0
        self._head, self._tail_size = keep - keep // 2, keep // 2
        self._tail = bytearray()

    def take(self, data: bytes) -> None:
        """Count, send and keep the next bytes."""
        room = max(0, self._head - self.total)
        self.total += len(data)
        if room:
            send(self.kind, data[:room])
        self._tail += data[room:]
        if len(self._tail) > 4 * self._tail_size:
            self._trim()

    def finish(self) -> None:
        """Send the tail."""
        self._trim()
        for start in range(0, len(self._tail), CHUNK):
            send(self.kind.lower(), bytes(self._tail[start : start + CHUNK]))

    def _trim(self) -> None:
        del self._tail[: max(0, len(self._tail) - self._tail_size)]


class Run:
    """One run of the program, from its job to the death of its last process."""

    def __init__(self, child: Child, job: dict[str, Any], folders: list[str]) -> None:
        self.child = child
        self.memory_bytes: int | None = job["memory_bytes"]
        self.files: int = job["files"]
        if self.memory_bytes is None:  # what was mounted with a number of files needs no watch
            folders = [folder for folder in folders if os.statvfs(folder).f_files > self.files]
        self.folders = folders
        self.logs = {child.stdout: Log(b"O", job["log_bytes"]), child.stderr: Log(b"E", job["log_bytes"])}
        self.open = dict(self.logs)
        self.end = ""
        self.wait_status: int | None = None
        self.strays = 0
        self.peak_bytes = 0
        self.memory_error = False
        self.seconds = 0.0
        self._poll = select.poll()

    def watch(self, wall_seconds: float) -> None:
        """Follow the program until it ends, exceeds its time, memory or number of files, or the owner goes."""
        wake, wake_write = os.pipe()
        os.set_blocking(wake_write, False)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        signal.set_wakeup_fd(wake_write, warn_on_full_buffer=False)
        os.write(wake_write, b"x")  # the child may have ended before the handler was there
        for descriptor in (*self.open, wake, self.child.status, 0):
            self._poll.register(descriptor, select.POLLIN)
        started = time.monotonic()
        deadline = started + wall_seconds
        look = started
        while not self.end:
            now = time.monotonic()
            if now >= deadline:
                self.end = "timeout"
                break
            if self.folders and now >= look:
                look = now + WATCH_SECONDS
                self.end = self._exceeded()
                if self.end:
                    break
            wait = min(deadline, look) - now if self.folders else deadline - now
            for descriptor, _ in self._poll.poll(max(1.0, min(wait, 3600.0) * 1000)):
                if descriptor == wake:
                    os.read(wake, 4096)
                    self._reap()
                else:
                    self._take(descriptor)
        self.seconds = time.monotonic() - started
        self.end = in_time(self.end, self.seconds, wall_seconds)
        self._poll.unregister(wake)
        self._poll.unregister(0)
        self._kill_everything()
        self._drain()

    def _take(self, descriptor: int) -> None:
        if descriptor == self.child.status:
            self._read_status()
        elif descriptor in self.open:
            self._pump(descriptor)
        elif not os.read(0, 4096):
            os._exit(71)  # the owner is gone, and with PID 1 goes everything

    def _reap(self) -> None:
        """Collect every process that ended; orphans come to PID 1."""
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return
            if pid == 0:
                return
            if pid == self.child.pid:
                self.wait_status, self.end = status, "exit"

    def _kill_everything(self) -> None:
        until = time.monotonic() + END_SECONDS
        while time.monotonic() < until:
            try:
                os.kill(-1, signal.SIGKILL)
            except ProcessLookupError:
                pass  # nobody is left but PID 1
            try:
                while True:
                    pid, status = os.waitpid(-1, os.WNOHANG)
                    if pid == 0:
                        break
                    if pid == self.child.pid:
                        self.wait_status = status
                    elif os.waitstatus_to_exitcode(status) == -signal.SIGKILL:
                        self.strays += 1
            except ChildProcessError:
                return
            time.sleep(0.001)

    def _drain(self) -> None:
        until = time.monotonic() + END_SECONDS
        while self.open and time.monotonic() < until:
            events = self._poll.poll(50)
            if not events:
                break
            for descriptor, _ in events:
                self._take(descriptor)
        self._read_status()

    def _read_status(self) -> None:
        if self.child.status < 0:
            return
        os.set_blocking(self.child.status, False)
        try:
            data = os.read(self.child.status, 64)
        except BlockingIOError:
            return
        self.memory_error = self.memory_error or b"M" in data
        if not data:
            self._poll.unregister(self.child.status)
            os.close(self.child.status)
            self.child.status = -1

    def _pump(self, descriptor: int) -> None:
        data = os.read(descriptor, 1 << 16)
        if data:
            self.open[descriptor].take(data)
        else:
            self._poll.unregister(descriptor)
            os.close(descriptor)
            del self.open[descriptor]

    def _exceeded(self) -> str:
        files, size = usage_of(self.folders)
        if self.memory_bytes is not None and self._memory_exceeded(self.memory_bytes, size):
            return "memory"
        return "files" if files > self.files else ""

    def _memory_exceeded(self, limit: int, files: int) -> bool:
        pids = [name for name in os.listdir("/proc") if name.isdigit() and name != "1"]
        sockets = bytes_in_sockets()
        total = sum(resident_bytes(pid) for pid in pids) + files + sockets
        if total > limit:
            # Pages that processes share were counted once for each of them, and so were mapped files: look exactly.
            parts = [(pid, *proportional_bytes(pid)) for pid in pids]
            private, shared = sum(part[1] for part in parts), sum(part[2] for part in parts)
            total = private + max(files, shared) + sockets
            if total <= limit < private + files + shared + sockets:  # it depends on how much is the same
                total = private + files + shared + sockets
                mapped = bytes_mapped_from(self.folders, [pid for pid, _, shared in parts if shared])
                total -= min(mapped, files, shared)
        self.peak_bytes = max(self.peak_bytes, total)
        return total > limit


def in_time(end: str, seconds: float, wall_seconds: float) -> str:
    """How a run ended: a program that kept PID 1 from the processor until after its time exited too late."""
    return "timeout" if end == "exit" and seconds > wall_seconds else end


def resident_bytes(pid: str) -> int:
    """Resident memory of one process; 0 when it is gone."""
    try:
        with open(f"/proc/{pid}/statm", "rb") as file:
            return int(file.read().split()[1]) * resource.getpagesize()
    except (OSError, IndexError):
        return 0


def proportional_bytes(pid: str) -> tuple[int, int]:
    """Resident memory of one process, shared pages divided among those that share them: private, and in memory files.

    The second is 0 where the kernel does not tell it apart.
    """
    sizes = {}
    try:
        with open(f"/proc/{pid}/smaps_rollup", "rb") as file:
            for line in file:
                if line.startswith((b"Pss:", b"Pss_Shmem:")):
                    name, size, _ = line.split()
                    sizes[name] = int(size) * 1024
    except OSError:
        pass  # gone, or it forbids this look at itself: then it is counted in full
    shared = sizes.get(b"Pss_Shmem:", 0)
    return (sizes[b"Pss:"] - shared if b"Pss:" in sizes else resident_bytes(pid)), shared


def bytes_mapped_from(folders: list[str], pids: list[str]) -> int:
    """What of the resident memory of processes is that of files in these folders, shared pages divided as above.

    A look at very many mappings is broken off: then it is less.
    """
    devices = set()
    for folder in folders:
        device = os.stat(folder).st_dev
        devices.add(b"%02x:%02x" % (os.major(device), os.minor(device)))
    total, until = 0, time.monotonic() + SMAPS_SECONDS
    for pid in pids:
        try:
            with open(f"/proc/{pid}/smaps", "rb") as file:
                mappings = (b"\n" + file.read()).split(b"\nVmFlags:")
        except OSError:
            continue
        for mapping in mappings:
            lines = mapping.split(b"\n", 2)  # flags of the mapping before, what is mapped, its sizes
            fields = lines[1].split(None, 4)
            if len(fields) > 3 and fields[3] in devices:
                total += _bytes_of_file(lines[2])
        if time.monotonic() > until:
            break
    return total


def _bytes_of_file(sizes: bytes) -> int:
    """Pages of a mapped file itself, without the copies that the process made by writing to a private mapping."""
    found = {}
    for line in sizes.split(b"\n"):
        if line.startswith((b"Pss:", b"Anonymous:")):
            name, size, _ = line.split()
            found[name] = int(size) * 1024
    return max(0, found.get(b"Pss:", 0) - found.get(b"Anonymous:", 0))


def memory_folders() -> list[str]:
    """Folders in memory that the program may write to, or may allow itself to: those of the box, and covers it owns."""
    found = []
    with open("/proc/self/mountinfo") as file:
        for line in file:
            left, _, right = line.partition(" - ")
            if right.startswith("tmpfs "):
                place, options = left.split()[4:6]
                if options.startswith("rw"):
                    found.append(place.replace("\\040", " "))
    return [place for place in found if _may_be_written(place)]


def _may_be_written(place: str) -> bool:
    try:
        entry = os.stat(place)
    except OSError:
        return False
    return stat.S_ISDIR(entry.st_mode) and (entry.st_uid == os.getuid() or os.access(place, os.W_OK))


def usage_of(folders: list[str]) -> tuple[int, int]:
    """The most files in one of the folders, and the bytes in all of them; what was deleted but is open counts too."""
    most, size = 0, 0
    for folder in folders:
        found = os.statvfs(folder)
        files = found.f_files - found.f_ffree
        most = max(most, files)
        size += (found.f_blocks - found.f_bfree) * found.f_frsize + files * FILE_BYTES
    return most, size


def bytes_in_sockets() -> int:
    """The most that the sockets of the box can hold, which is in no process's resident memory.

    Sockets are counted for each network namespace, what TCP holds only for the whole machine: a bound too.
    """
    counts = _socket_counts("/proc/net/sockstat")
    newer = _socket_counts("/proc/net/sockstat6").get(b"TCP6:", {})  # none where the kernel has no IPv6
    try:
        tcp = counts[b"TCP:"]
        sockets, streams = counts[b"sockets:"][b"used"], tcp[b"inuse"] + tcp[b"orphan"] + newer.get(b"inuse", 0)
    except KeyError:
        return 0
    return sockets * SOCKET_BYTES + min(streams * TCP_BYTES, tcp[b"mem"] * resource.getpagesize())


def _socket_counts(path: str) -> dict[bytes, dict[bytes, int]]:
    counts = {}
    try:
        with open(path, "rb") as file:
            for line in file:
                name, *words = line.split()
                counts[name] = dict(zip(words[::2], map(int, words[1::2]), strict=True))
    except (OSError, ValueError):
        pass
    return counts


# --- artifacts --------------------------------------------------------------------------------------------------------


class TooMuch(Exception):  # noqa: N818  an answer, not a fault
    """A folder holds more than is read back; the argument says what."""


class Collector:
    """Reads files below ``/output`` without following any link, within caps on bytes, number and depth.

    Each name is described: a file once; a folder by its files, and once more where it could not be read to its end.
    ``max_files`` bounds the files of all folders together.
    """

    def __init__(self, max_bytes: int, max_files: int) -> None:
        self.bytes_left, self.max_bytes = max_bytes, max_bytes
        self.files_left, self.max_files = max_files, max_files

    def collect(self, name: str) -> None:
        """Send one file, or for a name that ends in ``/`` every file below that folder."""
        parts = name.strip("/").split("/")
        folders: list[int] = []
        try:
            folders.append(os.open(OUTPUT, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW))
            for part in parts[:-1]:
                folders.append(self._open_folder(part, folders[-1]))
            if name.endswith("/"):
                folders.append(self._open_folder(parts[-1], folders[-1]))
                self._walk(name, folders[-1], MAX_DEPTH)
            else:
                self._file(name, parts[-1], folders[-1])
        except TooMuch as error:
            self._describe(name, "too_large", str(error))
        except FileNotFoundError:
            self._describe(name, "missing")
        except OSError as error:
            self._describe(name, "not_a_file", _kind_of(error, parts, folders))
        finally:
            for folder in folders:
                os.close(folder)

    @staticmethod
    def _open_folder(name: str, parent: int) -> int:
        return os.open(name, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW, dir_fd=parent)

    def _walk(self, prefix: str, folder: int, depth: int) -> None:
        for name in sorted(os.listdir(folder)):
            if len(prefix) + len(name) > MAX_PATH:
                raise TooMuch(f"a path longer than the {MAX_PATH:,} characters that are read back")
            entry = os.stat(name, dir_fd=folder, follow_symlinks=False)
            if stat.S_ISDIR(entry.st_mode):
                if depth == 0:
                    raise TooMuch(f"folders deeper than the {MAX_DEPTH} that are read back")
                inner = self._open_folder(name, folder)
                try:
                    self._walk(f"{prefix}{name}/", inner, depth - 1)
                finally:
                    os.close(inner)
            elif self.files_left <= 0:
                raise TooMuch(f"more files than the {self.max_files:,} that are read back")
            else:
                self.files_left -= 1
                self._file(prefix + name, name, folder)

    def _file(self, path: str, name: str, folder: int) -> None:
        entry = os.stat(name, dir_fd=folder, follow_symlinks=False)
        if not stat.S_ISREG(entry.st_mode):
            self._describe(path, "not_a_file", _KINDS.get(stat.S_IFMT(entry.st_mode), "not a plain file"))
            return
        # O_NONBLOCK: every process is dead, but opening must not hang on whatever this turns out to be.
        descriptor = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK, dir_fd=folder)
        try:
            self._content(path, descriptor)
        finally:
            os.close(descriptor)

    def _content(self, path: str, descriptor: int) -> None:
        size = os.fstat(descriptor).st_size
        if size > self.bytes_left:
            sparse = " (a sparse file)" if os.fstat(descriptor).st_blocks * 512 < size // 2 else ""
            self._describe(
                path, "too_large", f"{size:,} bytes{sparse}; {self.bytes_left:,} of {self.max_bytes:,} are left"
            )
            return
        self.bytes_left -= size
        self._describe(path, "ok", size=size)
        while size > 0:
            chunk = os.read(descriptor, min(CHUNK, size))
            if not chunk:
                break
            send(b"D", chunk)
            size -= len(chunk)

    @staticmethod
    def _describe(name: str, state: str, detail: str = "", size: int = 0) -> None:
        send_json(b"A", {"name": name, "state": state, "detail": detail, "size": size})


_KINDS = {
    stat.S_IFLNK: "a symbolic link",
    stat.S_IFDIR: "a folder",
    stat.S_IFIFO: "a named pipe",
    stat.S_IFSOCK: "a socket",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
}


def _kind_of(error: OSError, parts: list[str], folders: list[int]) -> str:
    """Say what stood where a folder or readable file was expected."""
    if folders and len(folders) <= len(parts):
        try:
            entry = os.stat(parts[len(folders) - 1], dir_fd=folders[-1], follow_symlinks=False)
        except OSError:
            return os.strerror(error.errno or 0)
        if not stat.S_ISREG(entry.st_mode) or error.errno == errno.ENOTDIR:
            return _KINDS.get(stat.S_IFMT(entry.st_mode), "a plain file where a folder was expected")
    return f"not readable: {os.strerror(error.errno or 0)}"


# --- the report -------------------------------------------------------------------------------------------------------

_CGROUP_KILLS = ("/sys/fs/cgroup/memory.events", "/sys/fs/cgroup/memory/memory.oom_control")
_CGROUP_PEAKS = ("/sys/fs/cgroup/memory.peak", "/sys/fs/cgroup/memory/memory.max_usage_in_bytes")


def cgroup_oom_kills() -> int:
    """Kills that the box's own cgroup counted, where it can be seen from inside."""
    for path in _CGROUP_KILLS:
        try:
            with open(path) as file:
                counts = dict(line.split() for line in file)
        except (OSError, ValueError):
            continue
        return int(counts.get("oom_kill", 0))
    return 0


def peak_memory_bytes(watched: int) -> int:
    """The most memory that was used: the cgroup's figure, else the larger of the watch's and the largest process's."""
    for path in _CGROUP_PEAKS:
        try:
            with open(path) as file:
                return int(file.read())
        except (OSError, ValueError):
            continue
    return max(watched, resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * 1024)


def cpu_seconds_of(pid: int) -> float:
    """CPU time that a living process has used."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            fields = file.read().rpartition(b")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
    except (OSError, IndexError):
        return 0.0


def main() -> None:
    """Serve one job and end."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # PID 1 ignores what has its default action
    config = json.loads(os.environ["OPENMLE_BOX"])
    try:
        confine(config)
        started = time.monotonic()
        child = Child(config)
    except OSError as error:
        give_up(f"The box could not be confined: {error}")
    folders = memory_folders()  # looked up while the child imports
    child.wait_ready()
    send_json(b"R", {"seconds": round(time.monotonic() - started, 4)})

    job = json.loads(receive())
    program = receive()
    with open(PROGRAM_PATH, "wb") as file:
        file.write(program)
    imports = cpu_seconds_of(child.pid)
    try:
        os.write(child.job, json.dumps({key: job[key] for key in ("rlimits", "environment")}).encode())
    except BrokenPipeError:
        pass  # the child is dead already; its exit is reported like any other
    os.close(child.job)

    run = Run(child, job, folders)
    run.watch(job["wall_seconds"])
    for log in run.logs.values():
        log.finish()
    collector = Collector(job["artifact_bytes"], job["artifact_files"])
    for name in job["collect"]:
        collector.collect(name)
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    send_json(
        b"F",
        {
            "end": run.end,
            "exit_code": None if run.wait_status is None else os.waitstatus_to_exitcode(run.wait_status),
            "wall_seconds": run.seconds,
            "cpu_seconds": max(0.0, usage.ru_utime + usage.ru_stime - imports),
            "peak_bytes": peak_memory_bytes(run.peak_bytes),
            "oom_kills": cgroup_oom_kills() + (run.end == "memory"),
            "memory_error": run.memory_error,
            "processes_killed": run.strays,
            "stdout_bytes": run.logs[child.stdout].total,
            "stderr_bytes": run.logs[child.stderr].total,
        },
    )


if __name__ == "__main__":
    main()
    sys.stderr.flush()
    os._exit(0)
