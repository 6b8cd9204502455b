"""Who waits for devices and who has some: one file for each request, locked for as long as its process lives.

A lock on a file ends with its process, however that ends; nothing has to be swept up for a device to be free again. The
file is its owner's alone, so that no user needs to write another's; all can read it. Everything here but `Request.beat`
is called with the folder locked (`places.locked`), except where ``openmle doctor`` only looks.
"""

from __future__ import annotations

import contextlib
import fcntl
import getpass
import json
import os
import secrets
import time
from dataclasses import asdict, dataclass, fields, replace
from typing import TYPE_CHECKING, Any

from openmle_env.errors import SandboxUnavailableError
from openmle_env.sandbox import reaper
from openmle_env.sandbox.forks import abandon_in_forks, no_fork
from openmle_env.sandbox.gpus import places

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

PREFIX = "request-"
_MOST_SECONDS = 1e11
"""More is no time of a record: what shows it could not tell its date."""
BEAT_SECONDS = 15.0
"""A request that waits and was not renewed for so long is that of a stopped process: it keeps no place in the queue."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """What one request says of itself. Sizes of time in seconds."""

    ticket: int
    """Its place in the queue: lower is older."""
    pid: int
    owner: str
    """Who the process is, beyond reuse of its number (see `reaper.owner`)."""
    user: str
    words: str
    """What it is for, for people; every user of the machine can read it."""
    since: float
    """When it was made, or when it got its devices: seconds since 1970."""
    count: int
    candidates: tuple[str, ...]
    """Uuids of the devices that would do, the preferred ones first."""
    sharing: int
    """How many programs may have a device together, as far as this one is concerned."""
    devices: tuple[str, ...] = ()
    """Uuids of the devices that it has; empty while it waits."""
    expires: float = 0.0
    """When it has to be over, by the clock of the boot (`now`); 0 while it waits."""
    checked: bool = False
    """Whether the devices were found clean. Until then nobody may share them."""
    seconds: float = 0.0
    """How long it may have the devices."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """A record as it was found."""

    path: Path
    record: Record | None
    """None where the file cannot be read."""
    alive: bool
    """Whether its process lives: the file is locked."""
    beat: float = 0.0
    """When it was last renewed: seconds since 1970."""

    def holds(self, at: float) -> bool:
        """Whether it has devices and its time is not over at ``at``, by the clock of the boot."""
        return self.record is not None and bool(self.record.devices) and self.record.expires > at

    def waits(self) -> bool:
        """Whether it stands in the queue."""
        if not self.alive or self.record is None or self.record.devices:
            return False
        return time.time() - self.beat < BEAT_SECONDS


def now() -> float:
    """Seconds since the machine's boot: one clock for all processes, which nobody sets."""
    return time.clock_gettime(time.CLOCK_BOOTTIME)


class Request:
    """The file of this process's own request. Its lock is what makes a lease."""

    def __init__(self, folder: Path, record: Record) -> None:
        """Put it in the queue, behind all others.

        Raises:
            SandboxUnavailableError: The file cannot be written.
        """
        self.record = record
        identity = f"{os.getpid()}-{secrets.token_hex(8)}"
        self.path = folder / f"{PREFIX}{identity}.json"
        new = folder / f"{places.NEW}{identity}"
        self._descriptor = -1
        with no_fork, _explained(folder):
            flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
            descriptor = os.open(new, flags, 0o644)
            try:
                os.fchmod(descriptor, 0o644)  # whatever the umask: others have to see whether it is locked
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                self._descriptor = descriptor
                self.write(record)
                new.rename(self.path)  # so that nobody meets it before it is locked and whole
            except BaseException:
                self._descriptor = -1
                os.close(descriptor)
                places.remove(new)
                raise
            abandon_in_forks(self)

    def write(self, record: Record) -> None:
        """Say something else of it.

        Raises:
            SandboxUnavailableError: It cannot be written.
        """
        with _explained(self.path.parent):
            os.pwrite(self._descriptor, json.dumps(asdict(record)).encode() + b"\n", 0)
        self.record = record

    def beat(self) -> None:
        """Say that its process does not stand still."""
        with contextlib.suppress(OSError):
            os.utime(self._descriptor)

    def close(self) -> None:
        """Give up the place in the queue, or the devices; idempotent, and nothing in a forked child."""
        descriptor, self._descriptor = self._descriptor, -1
        if descriptor >= 0:
            places.remove(self.path)
            fcntl.flock(descriptor, fcntl.LOCK_UN)  # a copy may be on its way through a fork
            os.close(descriptor)

    def abandon(self) -> None:
        """In a forked child: the lock is the parent's, and must not outlive it."""
        descriptor, self._descriptor = self._descriptor, -1
        if descriptor >= 0:
            os.close(descriptor)


def blank(*, count: int, candidates: tuple[str, ...], sharing: int, seconds: float, words: str) -> Record:
    """A record of this process that waits; `place` gives it its place."""
    try:
        user = getpass.getuser()
    except (KeyError, OSError):
        user = str(os.getuid())
    return Record(
        ticket=0,
        pid=os.getpid(),
        owner=reaper.owner(os.getpid()),
        user=user,
        words=" ".join(words.split())[:200],
        since=time.time(),
        count=count,
        candidates=candidates,
        sharing=sharing,
        seconds=seconds,
    )


def place(folder: Path, record: Record) -> Request:
    """Put a request at the end of the queue.

    Raises:
        SandboxUnavailableError: Its file cannot be written.
    """
    for path in folder.glob(f"{places.NEW}*"):  # nobody writes one now: its process was killed
        places.remove(path)
    tickets = [entry.record.ticket for entry in read(folder) if entry.alive and entry.record]
    return Request(folder, replace(record, ticket=max(tickets, default=0) + 1))


def read(folder: Path) -> list[Entry]:
    """All requests, oldest first; those of dead processes too, while their devices' time is not over."""
    entries = []
    try:
        names = sorted(name for name in os.listdir(folder) if name.startswith(PREFIX))  # noqa: PTH208  plain names
    except FileNotFoundError:
        return []
    for name in names:
        path = folder / name
        try:
            descriptor = places.open_plain(path)
        except OSError:  # a link, or a file that its owner closed to others: nobody can tell whether it is locked
            entries.append(Entry(path=path, record=None, alive=not path.is_symlink()))
            continue
        if descriptor is None:
            continue
        try:
            alive = _is_locked(descriptor)
            record, beat = _parse(places.first_line(descriptor)), os.fstat(descriptor).st_mtime
        finally:
            os.close(descriptor)
        entry = Entry(path=path, record=record, alive=alive, beat=beat)
        if alive or (entry.holds(now()) and _of_this_boot(entry)):
            entries.append(entry)
        else:
            places.remove(path)
    return sorted(entries, key=lambda entry: (entry.record.ticket if entry.record else 0, entry.path))


def _of_this_boot(entry: Entry) -> bool:
    return (
        entry.record is not None and entry.record.owner.partition("/")[0] == reaper.owner(os.getpid()).partition("/")[0]
    )


def _is_locked(descriptor: int) -> bool:
    """Whether another open file has the lock; a shared lock for the test, so that two that test see nothing."""
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except OSError:
        return True
    fcntl.flock(descriptor, fcntl.LOCK_UN)
    return False


def _parse(line: str) -> Record | None:
    try:
        found: dict[str, Any] = json.loads(line)
        values = {item.name: found[item.name] for item in fields(Record)}
        for name in ("candidates", "devices"):
            values[name] = tuple(map(str, values[name]))
        for name in ("ticket", "pid", "count", "sharing"):
            values[name] = int(values[name])
        for name in ("since", "expires", "seconds"):
            values[name] = _seconds(float(values[name]))
        for name in ("owner", "user", "words"):
            values[name] = places.told(values[name], 300)
        values["checked"] = values["checked"] is True
        return Record(**values)
    except (ValueError, TypeError, KeyError, OverflowError, RecursionError):
        return None


def _seconds(value: float) -> float:
    if not 0 <= value < _MOST_SECONDS:  # nor NaN; another user may have written it
        raise ValueError
    return value


@contextlib.contextmanager
def _explained(folder: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise SandboxUnavailableError(
            f"The request for a GPU cannot be written to {folder} ({error.strerror}). Free some space."
        ) from error
