"""One way to read a table: bytes or a file become columns of text cells, or a `Refused` says why not.

Nothing is inferred here. A cell is the text that stands in the file, an empty cell is the empty string, and there is
no list of words that mean "missing". The rules:

- UTF-8, any number of byte-order marks; lines end with CRLF, LF or CR; fields are separated by commas and may be
  quoted, with doubled quotes, separators and line breaks inside. Wholly empty lines are skipped.
- Every row has as many fields as the header. One empty extra field at the end is accepted if every row has it.
- Names are stripped of blanks and must differ. The only unnamed columns accepted are a leading one that holds each of
  0..n-1 once (a data frame's index; dropped with a warning) and a trailing one that is empty on every row.
"""

from __future__ import annotations

import errno
import os
import re
import stat
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

from openmle_env.errors import OpenMLEError
from openmle_env.graders.echo import show, show_some
from openmle_env.types import MIB, Artifact, ArtifactState, Problem

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator
    from pathlib import Path

MAX_BYTES = 64 * MIB
"""The largest submission that is read from a path; what a sandbox read back had a limit of its own there."""

MAX_TASK_BYTES = 1 << 30
"""The largest file of a task's own, such as its answers, that is read."""

MAX_FIELDS = 10_000
"""The most fields of one row; a wider one is refused before it takes memory."""

_FIELD = re.compile(r'(?:"([^"]*+(?:""[^"]*+)*+)"|((?:[^",\r\n][^,\r\n]*+)?+))(,|\r\n|\r|\n|\Z)')
_NOT_BREAK = re.compile(r"[^\r\n]")
_NOT_EMPTY = re.compile(r"[^\n]+")

_KINDS = (
    (stat.S_ISLNK, "a symbolic link"),
    (stat.S_ISDIR, "a directory"),
    (stat.S_ISFIFO, "a named pipe (FIFO)"),
    (stat.S_ISSOCK, "a socket"),
    (stat.S_ISCHR, "a character device"),
    (stat.S_ISBLK, "a block device"),
)


_COMPRESSED = {
    b"\x1f\x8b": "gzip",
    b"PK\x03\x04": "zip, as .xlsx files are, too",
    b"BZh": "bzip2",
    b"\xfd7zXZ\0": "xz",
    b"\x28\xb5\x2f\xfd": "zstandard",
}


class Refused(OpenMLEError):  # noqa: N818  it is a verdict on a file, turned into a report by every caller
    """The file is not a table that can be read. The only argument is the `Problem`."""

    def __init__(self, problem: Problem) -> None:
        super().__init__(problem)
        self.problem = problem

    def __str__(self) -> str:
        return self.problem.message


@dataclass(frozen=True, slots=True)
class Table:
    """Columns of text, as they stand in the file."""

    names: tuple[str, ...]
    """Every named column of the file, in its order."""
    columns: dict[str, list[str]]
    """The cells of the columns that were asked for."""
    rows: int
    warnings: tuple[str, ...] = ()


def refuse(code: str, message: str, *examples: str) -> Refused:
    """Build the exception for one problem."""
    return Refused(Problem(code=code, message=message, examples=examples))


def read_bytes(source: Artifact | Path | bytes, *, max_bytes: int = MAX_BYTES) -> bytes:
    """The bytes of a submission.

    Args:
        source: A path, or what was read already.
        max_bytes: The largest file that is read from a path.

    Raises:
        Refused: There is no file, it is not a regular one (the last part of a path is never followed if it is a
            link), it is larger than ``max_bytes``, or the system does not let us read it.
    """
    if isinstance(source, bytes):
        return source
    if isinstance(source, Artifact):
        return _read_artifact(source)
    content = _read_path(source, max_bytes)
    if len(content) > max_bytes:  # it grew while it was read
        raise _too_large(f"{len(content):,} bytes", max_bytes)
    return content


def read_table(content: bytes, *, wanted: Collection[str] | None = None, max_rows: int | None = None) -> Table:
    """Parse a CSV file into text cells, keeping the ``wanted`` columns (all, if None).

    Raises:
        Refused: The file is empty, not UTF-8, wrongly quoted, ragged, longer than ``max_rows`` rows, or its
            header has duplicated or unnamed columns.
    """
    records = _records(_decode(content))
    names = _header(records)
    kept = [i for i, name in enumerate(names) if wanted is None or not name or name in wanted]
    cells: list[list[str]] = [[] for _ in kept]
    rows = _fill(records, len(names), kept, cells, max_rows)
    columns = dict(zip(kept, cells, strict=True))
    warnings = _drop_unnamed(names, columns, rows)
    return Table(
        names=tuple(name for name in names if name),
        columns={names[i]: column for i, column in columns.items()},
        rows=rows,
        warnings=warnings,
    )


def read_names(content: bytes) -> tuple[str, ...]:
    """The named columns of a CSV file, in its order; nothing below the header is looked at.

    Raises:
        Refused: As for `read_table`, as far as the header shows it.
    """
    return tuple(name for name in _header(_records(_decode(content))) if name)


def _header(records: Iterator[tuple[int, list[str]]]) -> list[str]:
    """The names in the first record; all that can be wrong with them is found before a row is read."""
    _, header = next(records, (0, []))
    names = [name.replace("\ufeff", "").strip() for name in header]  # a mark may have been saved inside the quotes
    if not any(names):
        raise refuse("empty_file", "The file is empty: it has no header. Write a header line and one row for each id.")
    _refuse_duplicates(names)
    inner = next((i for i, name in enumerate(names[1:-1], 1) if not name), None)
    if inner is not None:
        raise _unnamed(inner)
    return names


def _read_artifact(artifact: Artifact) -> bytes:
    if artifact.state is ArtifactState.OK:
        return artifact.content
    if artifact.state is ArtifactState.MISSING:
        raise _no_file()
    detail = show(artifact.detail)[1:-1] if artifact.detail else ""
    if artifact.state is ArtifactState.TOO_LARGE:
        raise refuse("too_large", f"The submission is too large{f' ({detail})' if detail else ''}; write less.")
    raise _not_a_file(detail or "something else")


def _read_path(path: Path, max_bytes: int) -> bytes:
    try:
        _refuse_irregular(os.lstat(path))  # before opening: to open a device or FIFO may already have effects
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        with os.fdopen(descriptor, "rb") as file:
            status = os.fstat(descriptor)
            _refuse_irregular(status)
            if status.st_size > max_bytes:
                raise _too_large(f"{status.st_size:,} bytes", max_bytes)
            return file.read(max_bytes + 1)
    except OSError as error:
        if error.errno in {errno.ENOENT, errno.ENOTDIR}:
            raise _no_file() from None
        if error.errno == errno.ELOOP:
            raise _not_a_file("a symbolic link") from None
        raise refuse("unreadable", f"The submission cannot be read: {os.strerror(error.errno or 0)}.") from None


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


def _decode(content: bytes) -> str:
    if content.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise refuse("not_utf8", "The file is UTF-16, not UTF-8. Save it as UTF-8.")
    try:
        text = content.decode("utf-8")
    except UnicodeDecodeError as error:
        _refuse_compressed(content)
        byte = content[error.start]
        raise refuse(
            "not_utf8", f"The file is not UTF-8: byte 0x{byte:02x} at offset {error.start:,}. Save it as UTF-8 text."
        ) from None
    nul = text.find("\0")
    if nul >= 0:
        _refuse_compressed(content)
        offset = content.find(b"\0")
        raise refuse("nul_byte", f"The file holds a NUL byte at offset {offset:,}. Write plain CSV text.")
    return text.lstrip("\ufeff")


def _refuse_compressed(content: bytes) -> None:
    """Say what a file that is no text is instead, where its first bytes tell."""
    for magic, kind in _COMPRESSED.items():
        if content.startswith(magic):
            raise refuse("not_utf8", f"The file is compressed ({kind}), not UTF-8 text. Write it as plain CSV.")


def _records(text: str) -> Iterator[tuple[int, list[str]]]:
    """Line number (from 1) and cells of each record; wholly empty lines are skipped."""
    return _quoted_records(text) if '"' in text else _plain_records(text)


def _plain_records(text: str) -> Iterator[tuple[int, list[str]]]:
    """Records of a text without quotes: several times faster, and line by line so that memory stays bounded."""
    if "\r" in text:
        text = text.replace("\r\n", "\n").replace("\r", "\n")
    line, end = 1, 0
    for match in _NOT_EMPTY.finditer(text):
        line += _breaks(text, end, match.start())
        end = match.end()
        if text.count(",", match.start(), end) >= MAX_FIELDS:
            raise _too_wide(line)
        yield line, match[0].split(",")


def _quoted_records(text: str) -> Iterator[tuple[int, list[str]]]:
    line, position = 1, 0
    cells: list[str] = []
    while position < len(text) or cells:
        if not cells:  # at the start of a record
            start = _NOT_BREAK.search(text, position)
            if start is None:
                return
            line += _breaks(text, position, start.start())
            position = first = start.start()
        match = _FIELD.match(text, position)
        if match is None:
            raise _bad_quoting(text, position, line + _breaks(text, first, position))
        quoted, plain, end = match.groups()
        cells.append(plain if quoted is None else quoted.replace('""', '"'))
        position = match.end()
        if end != ",":
            yield line, cells
            cells = []
            line += _breaks(text, first, position)
        elif len(cells) >= MAX_FIELDS:
            raise _too_wide(line)


def _breaks(text: str, start: int, end: int) -> int:
    """How many lines end between two positions, of which none lies inside a CRLF."""
    return text.count("\n", start, end) + text.count("\r", start, end) - text.count("\r\n", start, end)


def _bad_quoting(text: str, position: int, line: int) -> Refused:
    closing = text.find('"', position + 1)
    while closing >= 0 and text.startswith('"', closing + 1):
        closing = text.find('"', closing + 2)
    if closing < 0:
        return refuse("bad_quoting", f"Line {line:,}: a quoted field is never closed. Close it with a double quote.")
    line += _breaks(text, position, closing)
    return refuse(
        "bad_quoting",
        f"Line {line:,}: text follows the end of a quoted field. Double any quote inside it.",
    )


def _too_wide(line: int) -> Refused:
    return refuse("ragged_row", f"Line {line:,} has more than {MAX_FIELDS:,} fields. Write one row a line.")


def _refuse_duplicates(names: list[str]) -> None:
    twice = [name for name, count in Counter(names).items() if name and count > 1]
    if twice:
        raise Refused(
            Problem(
                code="duplicate_columns",
                message=f"Column names appear more than once: {show_some(twice, len(twice))}. Keep one of each.",
                count=len(twice),
                examples=tuple(show(name) for name in twice[:5]),
            )
        )


def _fill(
    records: Iterator[tuple[int, list[str]]], width: int, kept: list[int], cells: list[list[str]], max_rows: int | None
) -> int:
    """Append the ``kept`` fields of each record to ``cells`` and return the number of rows."""
    appends = [(i, column.append) for i, column in zip(kept, cells, strict=True)]
    rows = trailing = first_trailing = 0
    for line, record in records:
        if len(record) != width:
            if len(record) != width + 1 or record[-1].strip():
                raise _ragged(line, width, len(record))
            trailing += 1
            first_trailing = first_trailing or line
        rows += 1
        if max_rows is not None and rows > max_rows:
            raise refuse("too_many_rows", f"The file has more than {max_rows:,} rows. Write one row for each id.")
        for i, append in appends:
            append(record[i])
    if 0 < trailing < rows:
        raise _ragged(first_trailing, width, width + 1)
    return rows


def _ragged(line: int, expected: int, found: int) -> Refused:
    hint = "Put quotes around a value that contains a comma." if found > expected else "Write all values."
    return refuse(
        "ragged_row", f"Line {line:,}: expected {expected:,} fields, as in the header, found {found:,}. {hint}"
    )


def _drop_unnamed(names: list[str], columns: dict[int, list[str]], rows: int) -> tuple[str, ...]:
    """Remove the unnamed columns that are accepted; return the warnings.

    Raises:
        Refused: Any other column has no name.
    """
    warnings: tuple[str, ...] = ()
    for i in [i for i, name in enumerate(names) if not name]:
        column = [cell.strip() for cell in columns.pop(i)]
        if i == 0 and _is_index(column, rows):
            if rows:
                warnings = ("The unnamed first column 0..n-1 (an index) is ignored; write with index=False.",)
        elif i != len(names) - 1 or any(column):
            raise _unnamed(i)
    return warnings


def _unnamed(position: int) -> Refused:
    return refuse(
        "unnamed_column",
        f"Column {position + 1:,} has no name. Write the file without the data frame's index (index=False), "
        "and name every column.",
    )


def _is_index(column: list[str], rows: int) -> bool:
    """Whether the cells are exactly the numbers 0..n-1, in any order (row order never matters)."""
    return set(column) == {str(i) for i in range(rows)}
