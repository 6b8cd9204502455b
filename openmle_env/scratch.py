"""Folders for what nobody else may see and nothing may leave behind, such as hidden answers on their way into a box.

Each lies below ``OPENMLE_HOME`` and is locked by the process that made it. A lock ends with its process, however that
ends, so that whoever makes the next folder knows which ones were left by killed processes, and removes them.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import tempfile
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from openmle_env import settings

if TYPE_CHECKING:
    from collections.abc import Iterator

NAME = "scratch"
"""Of the folder below ``OPENMLE_HOME`` that holds all of them."""


@contextmanager
def folder() -> Iterator[Path]:
    """A new folder that only its owner can enter, removed at the end.

    Raises:
        OSError: It cannot be made.
    """
    root = settings.load().home / NAME
    root.mkdir(mode=0o700, parents=True, exist_ok=True)
    root.chmod(0o700)
    outer = _lock(root)
    try:
        fcntl.flock(outer, fcntl.LOCK_EX)  # so that nobody meets a folder that its owner has not locked yet
        _sweep(root)
        made = Path(tempfile.mkdtemp(dir=root))
        inner = _lock(made)
        fcntl.flock(inner, fcntl.LOCK_EX)
    finally:
        fcntl.flock(outer, fcntl.LOCK_UN)  # a child that was forked meanwhile holds a copy of the descriptor
        os.close(outer)
    try:
        yield made
    finally:
        shutil.rmtree(made)
        os.close(inner)


def _lock(path: Path) -> int:
    return os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)


def _sweep(root: Path) -> None:
    """Remove the folders whose owners are dead."""
    for left in root.iterdir():
        try:
            descriptor = _lock(left)
        except OSError:
            continue  # just removed by its owner, or none of ours
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            continue  # its owner lives
        else:
            shutil.rmtree(left, ignore_errors=True)
        finally:
            os.close(descriptor)
