"""Making the writable folders of a box as they were, before it serves another program."""

# No pathlib: every import delays every box.
# ruff: noqa: PTH101, PTH104, PTH106, PTH108, PTH118, PTH208

from __future__ import annotations

import errno
import os
import stat


def empty(folders: list[str], modes: dict[str, int]) -> bool:
    """Remove all that lies in the folders; returns whether nothing is left and they are as they were.

    No program lives any more, so that nothing changes under this. The process acts as the program's user, who may
    remove whatever it made.
    """
    for folder in folders:
        try:
            _empty(folder)
            for name in _attributes(folder):
                os.removexattr(folder, name)
            if os.lstat(folder).st_mode != modes[folder]:
                os.chmod(folder, stat.S_IMODE(modes[folder]))
            if os.listdir(folder) or os.lstat(folder).st_mode != modes[folder]:
                return False
        except OSError:
            return False
    return True


def _attributes(folder: str) -> list[str]:
    """Extended attributes that a program can have set: among them permissions, also those that new files are given."""
    try:
        return [name for name in os.listxattr(folder) if name.startswith(("user.", "system.posix_acl_"))]
    except OSError as error:
        if error.errno in (errno.ENOTSUP, errno.EACCES):
            return []
        raise


def _empty(folder: str) -> None:
    """Remove what lies in a folder, however deep: what is in inner folders is moved up first, so nothing recurses."""
    moved = 0
    names = os.listdir(os.fsencode(folder))
    while names:
        for name in names:
            path = os.path.join(os.fsencode(folder), name)
            if not stat.S_ISDIR(os.lstat(path).st_mode):
                os.unlink(path)
                continue
            os.chmod(path, 0o700)
            for inner in os.listdir(path):
                below = os.path.join(path, inner)
                if stat.S_ISDIR(os.lstat(below).st_mode):
                    os.chmod(below, 0o700)  # moving a folder writes its entry for the parent
                    moved += 1
                    os.rename(below, os.path.join(os.fsencode(folder), b"\xff%d-%d" % (os.getpid(), moved)))
                else:
                    os.unlink(below)
            os.rmdir(path)
        names = os.listdir(os.fsencode(folder))
