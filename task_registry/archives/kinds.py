"""Which kind of archive a file is, by its first bytes: names lie."""

from __future__ import annotations

import tarfile
from typing import IO, TYPE_CHECKING, Literal

from openmle_env.task_registry import files

if TYPE_CHECKING:
    from pathlib import Path

    Kind = Literal["zip", "tar", "deb", "7z", "gz", "xz", "bz2", "zst"]

_MAGIC: dict[bytes, Kind] = {
    b"PK\x03\x04": "zip",
    b"PK\x05\x06": "zip",
    b"!<arch>\n": "deb",
    b"7z\xbc\xaf\x27\x1c": "7z",
    b"\x1f\x8b": "gz",
    b"\xfd7zXZ\x00": "xz",
    b"BZh": "bz2",
    b"\x28\xb5\x2f\xfd": "zst",
}


def kind_of(path: Path) -> Kind | None:
    """The kind of an archive or compressed file; None for any other file.

    Raises:
        PackError: It cannot be read.
    """
    with files.opened(path) as file:
        start = file.read(tarfile.BLOCKSIZE)
    return next((kind for magic, kind in _MAGIC.items() if start.startswith(magic)), "tar" if is_tar(start) else None)


def is_tar(start: bytes) -> bool:
    """Whether a file with this first block is a tar archive: its header has a checksum."""
    try:
        tarfile.TarInfo.frombuf(start, "utf-8", "surrogateescape")
    except tarfile.HeaderError:
        return False
    return True


def peek(stream: IO[bytes]) -> bytes:
    """The first block of a stream, as far as there is one."""
    start = b""
    while len(start) < tarfile.BLOCKSIZE and (more := stream.read(tarfile.BLOCKSIZE - len(start))):
        start += more
    return start
