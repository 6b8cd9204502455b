"""Streams of what is packed: constant memory, and every byte counted before it is used."""

from __future__ import annotations

import bz2
import importlib.util
import io
import lzma
import struct
import tarfile
import zipfile
import zlib
from contextlib import contextmanager
from typing import IO, TYPE_CHECKING, Protocol

from openmle_env.errors import OpenMLEError, PreparationError
from openmle_env.printable import printable

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from openmle_env.task_registry.archives.kinds import Kind
    from openmle_env.task_registry.archives.limits import Tally

_CHUNK = 1 << 18
DAMAGED = (
    *(EOFError, lzma.LZMAError, zlib.error, ValueError, struct.error, zipfile.BadZipFile, tarfile.TarError),
    RuntimeError,  # an unknown method, a password, headers of tar within one another without end
)
"""What the standard library raises on a file that is cut, changed or not of the format that it begins like."""


@contextmanager
def readable(name: str) -> Iterator[None]:
    """Word what goes wrong while an archive is read.

    Raises:
        PreparationError: It is damaged, or of a form that nothing here reads.
    """
    try:
        yield
    except (OpenMLEError, OSError) as error:
        if isinstance(error, OpenMLEError) or error.errno is not None:
            raise  # the disk's
        raise damaged(name, error) from error
    except DAMAGED as error:
        raise damaged(name, error) from error


def damaged(name: str, error: Exception) -> PreparationError:
    """The error for an archive that cannot be read, with the reason."""
    return PreparationError(
        f"The archive {printable(name)} cannot be read: {printable(str(error))[:200] or type(error).__name__}. "
        "It is damaged, or of a form that is not known here. Nothing of it was kept."
    )


class _Decompressor(Protocol):
    @property
    def eof(self) -> bool: ...

    @property
    def unused_data(self) -> bytes: ...

    @property
    def needs_input(self) -> bool: ...

    def decompress(self, data: bytes, max_length: int = -1) -> bytes: ...


class _Gzip:
    """zlib's object for gzip, with the methods of the two others."""

    def __init__(self) -> None:
        self._object = zlib.decompressobj(zlib.MAX_WBITS | 16)

    @property
    def eof(self) -> bool:
        return self._object.eof

    @property
    def unused_data(self) -> bytes:
        return self._object.unused_data

    @property
    def needs_input(self) -> bool:
        return not self._object.unconsumed_tail and not self._object.eof

    def decompress(self, data: bytes, max_length: int = -1) -> bytes:
        return self._object.decompress(self._object.unconsumed_tail + data, max_length)


class Unpacked(io.RawIOBase):
    """What a compressed stream says, several frames after one another too; zeros after the last one are padding."""

    def __init__(self, file: IO[bytes], make: Callable[[], _Decompressor]) -> None:
        super().__init__()
        self._file, self._make, self._object = file, make, make()
        self._early = b""
        """What was read of the next frame."""

    def readable(self) -> bool:
        """It can be read."""
        return True

    def read(self, size: int = -1) -> bytes:
        """The next bytes, at most ``size``; none at the end."""
        limit = _CHUNK if size < 0 else size
        while True:
            if self._object.eof:
                self._early = self._after_padding()
                if not self._early:
                    return b""
                self._object = self._make()
            data, at_end = b"", False
            if self._object.needs_input:
                data, self._early = self._early or self._file.read(_CHUNK), b""
                at_end = not data
            if found := self._object.decompress(data, limit):
                return found
            if at_end and not self._object.eof:
                raise EOFError("it ends too early")

    def _after_padding(self) -> bytes:
        rest = self._object.unused_data.lstrip(b"\0")
        while not rest and (more := self._file.read(_CHUNK)):
            rest = more.lstrip(b"\0")
        return rest


def unpacked(file: IO[bytes], kind: Kind, tally: Tally) -> IO[bytes]:
    """What a file of this kind says once decompressed.

    Raises:
        PreparationError: Nothing here decompresses this kind.
    """
    if kind == "zst" and importlib.util.find_spec("zstandard") is None:
        raise PreparationError(
            f"{printable(tally.archive)} is compressed with Zstandard, which this Python cannot read. "
            "Install the extra: pip install 'openmle-env[archives]'"
        )
    makers: dict[str, Callable[[], _Decompressor]] = {
        "gz": _Gzip,
        "xz": lambda: lzma.LZMADecompressor(memlimit=tally.limits.memory_bytes),
        "bz2": bz2.BZ2Decompressor,
        "zst": lambda: _Zstandard(tally.limits.memory_bytes),
    }
    return Unpacked(file, makers[kind])  # type: ignore[return-value]  # a raw stream that is only read


class _Zstandard:
    """zstandard's object, with the methods of the others: fed so little at once that what comes fits into memory."""

    def __init__(self, memory: int) -> None:
        import zstandard  # of an extra

        self._object = zstandard.ZstdDecompressor(max_window_size=memory).decompressobj()
        self._fault = zstandard.ZstdError
        self._input = self._output = b""

    @property
    def eof(self) -> bool:
        return self._object.eof and not self._output

    @property
    def unused_data(self) -> bytes:
        return bytes(self._object.unused_data) + self._input

    @property
    def needs_input(self) -> bool:
        return not self._input and not self._output and not self._object.eof

    def decompress(self, data: bytes, max_length: int = -1) -> bytes:
        self._input += data
        try:
            while self._input and not self._output and not self._object.eof:
                piece, self._input = self._input[:_PIECE], self._input[_PIECE:]
                self._output = self._object.decompress(piece)
        except self._fault as error:
            raise EOFError(str(error)) from None
        found, self._output = self._output[:max_length], self._output[max_length:]
        return found


_PIECE = 1024
"""Bytes that are given to Zstandard at once: each may become 32,768."""


class Counted:
    """A stream whose bytes a tally counts as they are read."""

    def __init__(self, stream: IO[bytes], tally: Tally, name: str) -> None:
        self._stream, self._tally, self.name = stream, tally, name

    def read(self, size: int) -> bytes:
        """The next bytes, at most ``size``.

        Raises:
            PreparationError: It is more than is taken.
        """
        with readable(self._tally.archive):
            found = self._stream.read(size)
        self._tally.add_bytes(len(found), self.name)
        return found


class Window(io.RawIOBase):
    """A part of a file, as a file."""

    def __init__(self, file: IO[bytes], size: int) -> None:
        super().__init__()
        self._file = file
        self.left = size
        """Bytes that were not read yet."""

    def read(self, size: int = -1) -> bytes:
        """The next bytes, at most ``size``; none at the end of the part."""
        found = self._file.read(self.left if size < 0 else min(size, self.left))
        self.left -= len(found)
        return found
