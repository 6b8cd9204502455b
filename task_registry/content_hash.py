"""SHA-256 over what a file says rather than over its bytes, for formats that library versions pack differently.

``values:`` and 64 digits in 'contents' of ``pack.yaml`` is such a digest. It is known for

- compressed files (``.gz``, ``.xz``, ``.bz2``): over the decompressed bytes;
- ``.npz`` and ``.zip``: over the names and bytes of the members, sorted by name;
- ``.png``: over the header, the palette and the decompressed pixel rows, as they are filtered.
"""

from __future__ import annotations

import hashlib
import io
import zipfile
import zlib
from contextlib import ExitStack
from pathlib import Path, PurePosixPath
from typing import IO, TYPE_CHECKING, Any

from openmle_env.errors import PackError
from openmle_env.task_registry import files
from openmle_env.task_registry.archives import streams
from openmle_env.task_registry.archives.limits import ArchiveLimits, Tally
from openmle_env.task_registry.pack_values import VALUES

if TYPE_CHECKING:
    from collections.abc import Iterator

    from openmle_env.task_registry.archives.kinds import Kind

_COMPRESSED: dict[str, Kind] = {".gz": "gz", ".xz": "xz", ".bz2": "bz2"}
_ARCHIVES = (".npz", ".zip")
_PNG = b"\x89PNG\r\n\x1a\n"
_SAID = (b"IHDR", b"PLTE", b"tRNS")
"""Blocks of a PNG file that say how its rows are read."""
SUFFIXES = (*_COMPRESSED, *_ARCHIVES, ".png")
"""The formats that have a digest over values."""


def has_values(name: str) -> bool:
    """Whether a file of this name has a digest over its values.

    >>> has_values("public/train.csv.gz"), has_values("public/train.csv")
    (True, False)
    """
    return PurePosixPath(name).suffix.lower() in SUFFIXES


def digest(name: str, source: bytes | Path) -> str:
    """The digest over what a file says, with ``values:`` before it.

    Args:
        name: Its name, which tells its format.
        source: Its bytes, or where it lies.

    Raises:
        PackError: The format has no such digest, or the file is not of the format that its name says.
        PreparationError: The file is damaged, or unpacks to more than is taken.
    """
    suffix = PurePosixPath(name).suffix.lower()
    if suffix not in SUFFIXES:
        raise PackError(
            f"{name} has no digest over values, which 'contents' in pack.yaml states ({VALUES}...): there is one for "
            f"{', '.join(SUFFIXES)}. State the SHA-256 of its bytes."
        )
    said = hashlib.sha256()
    with ExitStack() as stack:
        file: IO[bytes]
        if isinstance(source, bytes):
            file, size = io.BytesIO(source), len(source)
        else:
            file, size = stack.enter_context(files.opened(source)), source.stat().st_size
        tally = Tally.new(name, size, ArchiveLimits())
        stack.enter_context(streams.readable(name))
        if suffix in _COMPRESSED:
            _add_all(said, streams.Counted(streams.unpacked(file, _COMPRESSED[suffix], tally), tally, name))
        elif suffix in _ARCHIVES:
            _add_members(said, file, tally)
        else:
            _add_png(said, name, file, tally)
    return VALUES + said.hexdigest()


def _add_all(said: Any, content: streams.Counted) -> None:
    while chunk := content.read(files.CHUNK):
        said.update(chunk)


def _add_members(said: Any, file: IO[bytes], tally: Tally) -> None:
    with zipfile.ZipFile(file) as archive:
        for info in sorted(archive.infolist(), key=lambda one: one.filename):
            if info.filename.endswith("/"):
                continue
            of_member = hashlib.sha256()
            with archive.open(info) as content:
                _add_all(of_member, streams.Counted(content, tally, info.filename))
            said.update(f"{info.filename}\0{of_member.hexdigest()}\n".encode())


def _add_png(said: Any, name: str, file: IO[bytes], tally: Tally) -> None:
    if file.read(len(_PNG)) != _PNG:
        raise PackError(f"{name} is no PNG file. Correct its name, or what utils/prepare.py writes.")
    rows: Any = _Joined(_pixel_blocks(said, file))
    _add_all(said, streams.Counted(_Inflated(rows), tally, name))  # type: ignore[arg-type]  # only read


def _pixel_blocks(said: Any, file: IO[bytes]) -> Iterator[bytes]:
    while header := file.read(8):
        size, kind = int.from_bytes(header[:4], "big"), header[4:]
        content = file.read(size)
        if len(content) != size or len(file.read(4)) != 4:
            raise EOFError("it ends too early")
        if kind in _SAID:
            said.update(kind + len(content).to_bytes(4, "big") + content)
        elif kind == b"IDAT" and content:
            yield content
        elif kind == b"IEND":
            return


class _Joined:
    """Pieces of bytes, one after the other."""

    def __init__(self, pieces: Iterator[bytes]) -> None:
        self._pieces = pieces

    def read(self, _size: int) -> bytes:
        return next(self._pieces, b"")


class _Inflated:
    """What a zlib stream says."""

    def __init__(self, packed: _Joined) -> None:
        self._packed, self._object = packed, zlib.decompressobj()

    def read(self, size: int) -> bytes:
        while not self._object.eof:
            data = self._object.unconsumed_tail or self._packed.read(size)
            if found := self._object.decompress(data, size):
                return found
            if not data and not self._object.eof:
                raise EOFError("it ends too early")
        return b""
