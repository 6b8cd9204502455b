"""Filling a part file until it is the file: resumed after every cut, and never taken for whole before its hash is."""

from __future__ import annotations

import hashlib
import os
import random
import time
from typing import TYPE_CHECKING

from openmle_env.errors import InfrastructureError, PackError, PreparationError
from openmle_env.task_registry import files
from openmle_env.task_registry.downloads import opening
from openmle_env.task_registry.downloads.opening import InterruptedTransferError
from openmle_env.task_registry.downloads.source import Source, shown

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from openmle_env.task_registry.pack import Download

TRIES = 5
"""How many tries in a row may bring no more than `LITTLE` bytes each."""
LITTLE = 1 << 20
FIRST_WAIT = 0.5
"""Seconds before the second try; doubled for each further one, a quarter more or less."""
LONGEST_WAIT = 60.0
"""A server that asks for a longer pause is told of, rather than waited for."""
_STRANGE_BYTES = 256 << 20
"""How much of a file that is not the right one is read, to say what its hash is."""


def fill(part: Path, download: Download, sources: Sequence[Source], tell: Callable[[int], None]) -> None:
    """Fetch into ``part``, from where it ends, until it is the whole file, on the disk.

    Args:
        part: The part file; made where there is none. It stays for the next try where this one fails.
        download: Its size and hash.
        sources: Where it may be had: the next one is asked where one has no such file.
        tell: Told how many bytes are there.

    Raises:
        InfrastructureError: It cannot be had: no network, refused, cut off too often.
        PreparationError: It is nowhere.
        PackError: There is another file of this name: both hashes are told, and the part file is removed.
        OSError: It cannot be written.
    """
    for source, is_last in [(one, one is sources[-1]) for one in sources]:
        try:
            _fill_from(part, download, source, tell)
        except (InfrastructureError, PreparationError, PackError):
            if is_last:
                raise
        else:
            return


def _fill_from(part: Path, download: Download, source: Source, tell: Callable[[int], None]) -> None:
    failures, most, mixed = 0, _size(part), _size(part) > 0
    while True:
        before = _size(part)
        if before > download.size:
            part.unlink()
            most = 0
            continue
        if before == download.size:
            digest = files.sha256(part)
            if digest == download.sha256:
                return
            part.unlink()
            if not mixed:
                raise _another(download, source, f"its SHA-256 is {digest}")
            most, mixed = 0, False  # what an earlier try left may be of another file: once more, from the beginning
        try:
            _pull(part, download, source, tell)
        except InterruptedTransferError as error:
            # Beyond all that there was: a server that begins anew each time brings nothing.
            failures = 1 if _size(part) - most > LITTLE else failures + 1
            most = max(most, _size(part))
            mixed = _size(part) > 0
            _pause(error, failures)


def _pause(error: InterruptedTransferError, failures: int) -> None:
    if error.wait > LONGEST_WAIT:
        raise InfrastructureError(f"{error} It asks to come back in {error.wait:.0f} s: try again then.") from None
    if failures >= TRIES:
        raise InfrastructureError(
            f"{error} That was try {failures} in a row. Check the network and try again: what was fetched is kept."
        ) from None
    time.sleep(max(error.wait, FIRST_WAIT * 2 ** (failures - 1) * random.uniform(0.75, 1.25)))  # noqa: S311  no secret


def _pull(part: Path, download: Download, source: Source, tell: Callable[[int], None]) -> None:
    """One connection: append what comes. It ends when the server has sent all, or raises."""
    with opening.opened(source, _size(part)) as reply:
        if reply.total is not None and reply.total != download.size:
            part.unlink(missing_ok=True)
            raise _another(download, source, f"it has {reply.total:,} bytes{_strange_hash(reply)}")
        have = _size(part)
        if reply.start not in {0, have}:
            part.unlink(missing_ok=True)
            raise InterruptedTransferError(f"{shown(source.url)} sent another part of the file than was asked for.")
        flags = os.O_WRONLY | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
        with os.fdopen(os.open(part, flags, 0o600), "wb") as file:
            file.truncate(reply.start)
            written = file.seek(reply.start)
            while chunk := reply.read(files.CHUNK):
                written += len(chunk)
                if written > download.size:
                    part.unlink()
                    raise _another(download, source, f"it has more than {download.size:,} bytes")
                file.write(chunk)
                tell(written)
            file.flush()
            os.fsync(file.fileno())
    if written < download.size:
        raise InterruptedTransferError(f"{shown(source.url)} ended after {written:,} of {download.size:,} bytes.")


def _strange_hash(reply: opening.Reply) -> str:
    """The hash of a file that is not the right one, if it is not too large to read all of it for that."""
    if reply.start or (reply.total or 0) > _STRANGE_BYTES:
        return ""
    digest, left = hashlib.sha256(), reply.total or 0
    while left > 0 and (chunk := reply.read(min(files.CHUNK, left))):
        digest.update(chunk)
        left -= len(chunk)
    return f", and its SHA-256 is {digest.hexdigest()}"


def _another(download: Download, source: Source, found: str) -> PackError:
    return PackError(
        f"{shown(source.url)} is not the {download.file} that the pack was made with: {found}, and pack.yaml says "
        f"{download.size:,} bytes with SHA-256 {download.sha256}. It was changed, or damaged on its way; nothing of it "
        "was kept. If you trust the new file and own the pack, write its size and SHA-256 into 'downloads' of "
        "pack.yaml and raise the pack's version: scores of the two versions are never mixed."
    )


def _size(path: Path) -> int:
    try:
        return path.lstat().st_size
    except FileNotFoundError:
        return 0
