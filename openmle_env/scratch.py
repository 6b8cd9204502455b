"""Folders for what nobody else may see and nothing may leave behind, such as hidden answers on their way into a box.

Each lies below ``OPENMLE_HOME`` and is locked by the process that made it. A lock ends with its process, however that
ends, so that whoever makes the next folder knows which ones were left by killed processes, and removes them. Locks of
another machine that shares the home may not be seen here: its folders, which have its name, are left alone for a day.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import platform
import shutil
import tempfile
import time
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from openmle_env import settings

if TYPE_CHECKING:
    from collections.abc import Iterator

NAME = "scratch"
"""Of the folder below ``OPENMLE_HOME`` that holds all of them."""


FOREIGN_SECONDS = 24 * 3600.0
"""How old a folder of another machine is, or of this one before it was started anew, when it counts as left."""


def machine() -> str:
    """What this machine is called until it is started again."""
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
    except OSError:
        return platform.node()


@contextmanager
def folder() -> Iterator[Path]:
    """A new folder that only its owner can enter, removed at the end.

    Raises:
        OSError: It cannot be made.
    """
    root = settings.load().home / NAME
    root.mkdir(mode=0o700, parents=True, exist_ok=True)
    root.chmod(0o700)
    with _locked(root):  # so that nobody meets a folder that its owner has not locked yet
        _remove_left(root)
        made = Path(tempfile.mkdtemp(prefix=f"{machine()}-", dir=root))
        inner = _open(made)
        fcntl.flock(inner, fcntl.LOCK_EX)
    try:
        yield made
    finally:
        shutil.rmtree(made, ignore_errors=True)  # what cannot be removed now is swept up later
        os.close(inner)


def sweep() -> None:
    """Remove what killed processes left; what cannot be removed now keeps nobody from going on."""
    root = settings.load().home / NAME
    with contextlib.suppress(OSError), _locked(root):
        _remove_left(root)


@contextmanager
def _locked(root: Path) -> Iterator[None]:
    descriptor = _open(root)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        fcntl.flock(descriptor, fcntl.LOCK_UN)  # a child that was forked meanwhile holds a copy of the descriptor
        os.close(descriptor)


def _open(path: Path) -> int:
    return os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)


def left() -> list[Path]:
    """The folders that killed processes left, for people; `sweep` removes them."""
    root = settings.load().home / NAME
    try:
        with _locked(root):
            return [folder for folder, _ in _ownerless(root)]
    except OSError:
        return []


def _remove_left(root: Path) -> None:
    """Remove the folders whose owners are dead."""
    for folder, _ in _ownerless(root):
        shutil.rmtree(folder, ignore_errors=True)


def _ownerless(root: Path) -> Iterator[tuple[Path, int]]:
    """The folders whose owners are dead, each with a descriptor that locks it until the next one is asked for."""
    own = f"{machine()}-"
    for folder in root.iterdir():
        try:
            if not folder.name.startswith(own) and time.time() - folder.stat().st_mtime < FOREIGN_SECONDS:
                continue
            descriptor = _open(folder)
        except OSError:
            continue  # just removed by its owner, or none of ours
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            continue  # its owner lives
        else:
            yield folder, descriptor
        finally:
            os.close(descriptor)
