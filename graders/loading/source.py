"""Where a table comes from: bytes, what a sandbox read, or a path, which is opened without following links."""

from __future__ import annotations

import errno
import io
import os
import stat
from contextlib import contextmanager
from typing import TYPE_CHECKING, BinaryIO

from openmle_env.errors import OpenMLEError
from openmle_env.graders.echo import show
from openmle_env.types import Artifact, ArtifactState, Problem

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

MAX_BYTES = 1 << 30
"""The largest file that is read from a path; what a sandbox read back had a limit of its own there."""

MAX_TASK_BYTES = 1 << 30
"""The largest file of a task's own, such as its answers, that is read."""

_PIECE = 1 << 20

_KINDS = (
    (stat.S_ISLNK, "a symbolic link"),
    (stat.S_ISDIR, "a directory"),
    (stat.S_ISFIFO, "a named pipe (FIFO)"),
    (stat.S_ISSOCK, "a socket"),
    (stat.S_ISCHR, "a character device"),
    (stat.S_ISBLK, "a block device"),
)


class Refused(OpenMLEError):  # noqa: N818  it is a verdict on a file, turned into a report by every caller
    """The file is not a table that can be read. The only argument is the `Problem`."""

    def __init__(self, problem: Problem) -> None:
        super().__init__(problem)
        self.problem = problem

    def __str__(self) -> str:
        return self.problem.message


def refuse(code: str, message: str, *examples: str) -> Refused:
    """Build the exception for one problem."""
    return Refused(Problem(code=code, message=message, examples=examples))


class Source:
    """An open file that is read from start to end, any number of times, and piece by piece: never as a whole.

    It may change, grow or shrink meanwhile: then other bytes are read, or it is refused, and nothing worse happens.
    """

    size: int
    """Bytes, when it was opened."""

    def __init__(self, file: BinaryIO, size: int, max_bytes: int | None = None) -> None:
        """Read ``file`` up to ``max_bytes``, if given."""
        self._file = file
        self._max_bytes = max_bytes
        self._read = 0
        self.size = size

    def read(self, count: int) -> bytes:
        """At most ``count`` bytes; none at the end.

        Raises:
            Refused: The system does not let us read it, or it has grown beyond the limit.
        """
        try:
            piece = self._file.read(count)
        except OSError as error:
            raise _unreadable(error) from None
        if piece is None:  # some files of the kernel's own call themselves regular, and make a reader wait
            raise _unreadable(OSError(errno.EAGAIN, ""))
        self._read += len(piece)
        if self._max_bytes is not None and self._read > self._max_bytes:
            raise _too_large(f"more than {self._max_bytes:,} bytes", self._max_bytes)
        return piece

    def rewind(self) -> None:
        """Go back to the start.

        Raises:
            Refused: The system does not let us.
        """
        try:
            self._file.seek(0)
        except OSError as error:
            raise _unreadable(error) from None
        self._read = 0


@contextmanager
def open_source(source: Artifact | Path | bytes, *, max_bytes: int = MAX_BYTES) -> Iterator[Source]:
    """Open a submission.

    Args:
        source: A path, or what was read already.
        max_bytes: The largest file that is read from a path.

    Raises:
        Refused: There is no file, it is not a regular one (the last part of a path is never followed if it is a
            link), it is larger than ``max_bytes``, or the system does not let us read it.
    """
    if isinstance(source, bytes | Artifact):
        content = source if isinstance(source, bytes) else _content(source)
        yield Source(io.BytesIO(content), len(content))
    else:
        with _open_path(source, max_bytes) as file:
            yield Source(file, os.fstat(file.fileno()).st_size, max_bytes)


def read_bytes(source: Artifact | Path | bytes, *, max_bytes: int = MAX_BYTES) -> bytes:
    """The bytes of a submission, all at once: for files that are known to be small.

    Raises:
        Refused: As for `open_source`.
    """
    if isinstance(source, bytes):
        return source
    if isinstance(source, Artifact):
        return _content(source)
    with open_source(source, max_bytes=max_bytes) as opened:
        return b"".join(iter(lambda: opened.read(_PIECE), b""))


def _content(artifact: Artifact) -> bytes:
    if artifact.state is ArtifactState.OK:
        return artifact.content
    if artifact.state is ArtifactState.MISSING:
        raise _no_file()
    detail = show(artifact.detail)[1:-1] if artifact.detail else ""
    if artifact.state is ArtifactState.TOO_LARGE:
        raise refuse("too_large", f"The submission is too large{f' ({detail})' if detail else ''}; write less.")
    raise _not_a_file(detail or "something else")


def _open_path(path: Path, max_bytes: int) -> BinaryIO:
    try:
        _refuse_irregular(os.lstat(path))  # before opening: to open a device or FIFO may already have effects
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except ValueError:
        raise _no_file() from None  # no file has such a name, with a NUL or half a character
    except OSError as error:
        if error.errno in {errno.ENOENT, errno.ENOTDIR}:
            raise _no_file() from None
        if error.errno == errno.ELOOP:
            raise _not_a_file("a symbolic link") from None
        raise _unreadable(error) from None
    file = os.fdopen(descriptor, "rb", buffering=0)
    try:
        status = os.fstat(descriptor)
        _refuse_irregular(status)
        if status.st_size > max_bytes:
            raise _too_large(f"{status.st_size:,} bytes", max_bytes)
    except Refused:
        file.close()
        raise
    return file


def _refuse_irregular(status: os.stat_result) -> None:
    if not stat.S_ISREG(status.st_mode):
        raise _not_a_file(next((name for test, name in _KINDS if test(status.st_mode)), "something else"))


def _no_file() -> Refused:
    return refuse(
        "no_file", "There is no submission file. Write the predictions to submission.csv in the output folder."
    )


def _not_a_file(what: str) -> Refused:
    return refuse("not_a_file", f"The submission is {what}, not a regular file. Write submission.csv as a plain file.")


def _too_large(size: str, limit: int) -> Refused:
    return refuse("too_large", f"The submission is too large: {size}, at most {limit:,} are read. Write less.")


def _unreadable(error: OSError) -> Refused:
    return refuse("unreadable", f"The file cannot be read: {os.strerror(error.errno or 0)}.")
