"""The folder in which all users' processes of this machine meet, and the lock on it.

It has to be the same for every user, so ``OPENMLE_HOME`` cannot hold it, and it has to be writable by all of them. It
lies in ``/run/lock`` where everyone may write there (Debian, Ubuntu), else in ``/tmp``: a rule that gives every user
the same answer, unlike "the first where I may write". Both end with the machine's boot or soon after, as the leases do.

The folder is sticky: one removes only one's own files. Nothing in it is ever written by two users; links are not
followed; a file's owner decides nothing. A user who wants to disturb others can hold a lock for ever, and whoever made
the folder could remove files in it: leases are an agreement among the users of a machine, not a defence against them.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import random
import stat
import time
from pathlib import Path
from typing import TYPE_CHECKING

from openmle_env.errors import SandboxUnavailableError
from openmle_env.sandbox.forks import no_fork

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

NAME = "openmle-gpus"
PARENTS = (Path("/run/lock"), Path("/tmp"))  # noqa: S108  guarded: see above
NEW = ".new-"
"""Begins the name of a file that is being written, with the folder locked, and gets its name when it is whole."""
LOCK_SECONDS = 60.0
"""How long the folder may be locked by others; nobody needs it for more than milliseconds."""
_OPEN = 0o1777
_MOST_BYTES = 1 << 16


def shared_folder() -> Path:
    """Where the folder is, or will be: the same for all users of this machine.

    Raises:
        SandboxUnavailableError: No folder is open to all users.
    """
    for parent in PARENTS:
        with contextlib.suppress(OSError):
            if stat.S_IMODE(parent.stat().st_mode) & _OPEN == _OPEN:
                return parent / NAME
    raise SandboxUnavailableError(
        f"Leases of GPUs need a folder that all users of the machine share: {' or '.join(map(str, PARENTS))}, "
        "writable by everyone and sticky. Repair it: sudo chmod 1777 /tmp"
    )


def prepare(folder: Path | None = None) -> Path:
    """The folder, made where it is missing, and checked.

    Raises:
        SandboxUnavailableError: It cannot be made, or is not what it should be.
    """
    path = shared_folder() if folder is None else folder
    try:
        with contextlib.suppress(FileExistsError):
            path.mkdir()
        if not _usable(path) and _is_own(path):
            path.chmod(_OPEN)  # new, or its maker was killed before this
        until = time.monotonic() + 1
        while not (usable := _usable(path)) and time.monotonic() < until:
            time.sleep(0.01)  # another process made it, and has not opened it to all yet
    except OSError as error:
        raise SandboxUnavailableError(
            f"The folder of the GPU leases, {path}, cannot be made or read ({error.strerror}). Its parent has to be "
            "writable by everyone."
        ) from error
    if not usable:
        raise SandboxUnavailableError(
            f"{path} should be the folder of the GPU leases, a folder that is sticky and writable by everyone, and is "
            f"not. Let root remove it: sudo rm -r {path}"
        )
    return path


def _is_own(path: Path) -> bool:
    found = path.lstat()
    return stat.S_ISDIR(found.st_mode) and found.st_uid == os.getuid()


def _usable(path: Path) -> bool:
    mode = path.lstat().st_mode
    return stat.S_ISDIR(mode) and stat.S_IMODE(mode) & _OPEN == _OPEN


@contextlib.contextmanager
def locked(folder: Path, stop: Callable[[], bool] = lambda: False) -> Iterator[None]:
    """Keep every other process and thread out of the folder, for a moment: nothing slow may happen inside.

    Args:
        folder: See `prepare`.
        stop: Asked while others have the lock; the wait ends with `TimeoutError` when it is true.

    Raises:
        SandboxUnavailableError: Others kept it for longer than `LOCK_SECONDS`.
        TimeoutError: ``stop`` said so.
    """
    until = time.monotonic() + LOCK_SECONDS
    pause = 0.001
    while True:
        # A copy of the descriptor in a forked child would keep the lock of a parent that was killed.
        with no_fork:
            descriptor = _lock(folder)
            if descriptor is not None:
                try:
                    yield
                finally:
                    fcntl.flock(descriptor, fcntl.LOCK_UN)
                    os.close(descriptor)
                return
        if stop():
            raise TimeoutError
        if time.monotonic() > until:
            raise SandboxUnavailableError(
                f"Another process keeps the GPU leases in {folder} locked for more than {LOCK_SECONDS:g} s; it may be "
                f"stopped. Find it ('sudo fuser -v {folder}') and let it go on, or end it."
            )
        time.sleep(pause * (0.5 + random.random()))  # noqa: S311  only so that the waiting do not meet again
        pause = min(2 * pause, 0.02)


def _lock(folder: Path) -> int | None:
    try:
        descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError as error:
        raise SandboxUnavailableError(
            f"The folder of the GPU leases, {folder}, cannot be opened ({error.strerror})."
        ) from error
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(descriptor)
        return None
    return descriptor


def open_plain(path: Path) -> int | None:
    """A descriptor of a plain file, never of a link, pipe or device, without waiting; None where there is none.

    Raises:
        OSError: It is there and may not be read.
    """
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except FileNotFoundError:
        return None
    if stat.S_ISREG(os.fstat(descriptor).st_mode):
        return descriptor
    os.close(descriptor)
    return None


def first_line(descriptor: int) -> str:
    """The first line of a file that another user may have written; empty where there is none that is whole."""
    line, end, _ = os.pread(descriptor, _MOST_BYTES, 0).partition(b"\n")
    return line.decode("utf-8", "replace") if end else ""


def told(value: object, most: int) -> str:
    """A text that another user may have written, as it may be shown; ``most`` characters of it."""
    return "".join(letter if letter.isprintable() else "?" for letter in str(value)[:most])


def remove(path: Path) -> None:
    """Remove a file, unless it is another user's, or gone."""
    with contextlib.suppress(OSError):
        path.unlink()
