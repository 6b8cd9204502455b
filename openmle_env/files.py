"""Writing whole files at once, so that nobody ever meets half of one; and knowing a full disk when one is met."""

from __future__ import annotations

import errno
import os
import secrets
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path


def is_full(error: OSError) -> bool:
    """Whether something could not be written because no space, or no quota, is left.

    >>> is_full(OSError(errno.EDQUOT, "Disk quota exceeded")), is_full(OSError(errno.EACCES, "Permission denied"))
    (True, False)
    """
    return error.errno in {errno.ENOSPC, errno.EDQUOT}


def write_whole(path: Path, content: bytes) -> None:
    """Put a file in its place, over what was there, and wait until it is on the disk; leave nothing where that fails.

    Several threads and processes may write the same file: the last one counts.

    Raises:
        OSError: It cannot be written. What was there before is still there.
    """
    temporary = path.with_name(f".{path.name}.{secrets.token_hex(4)}.new")
    try:
        with temporary.open("xb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
