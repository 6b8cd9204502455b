"""Looking at raw files on behalf of a model: nothing outside the folder is ever read, whatever it asks for."""

from __future__ import annotations

import csv
import io
import os
import stat
from collections import Counter
from itertools import islice
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, BinaryIO

from openmle_env.printable import printable

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

MAX_ENTRIES = 200
MAX_LISTED = 1_000
"""Lines of the whole tree."""
MAX_TEXT = 8_000
"""Characters of a file that are shown at once."""
MAX_ROWS = 20_000
"""Rows of a table that are looked at; what is said of a longer one says so."""
MAX_LINE = 1_000_000
"""Characters of one line of a table."""
MAX_TABLE = 200_000_000
"""Characters of all rows that are looked at."""
MAX_COLUMNS = 200
MAX_CELL = 80
_DISTINCT = 1_000
_FOLD_ABOVE = 30
"""A folder with more entries than this is shown by its first few."""
_SHOWN = 5
_DEPTH = 6


class RefusedError(Exception):
    """Something that is not read; the message is for the model."""


def list_folder(root: Path, name: str) -> str:
    """Names, kinds and sizes (bytes) of what lies in a folder.

    Raises:
        RefusedError: It is outside, a link, or no folder.
    """
    descriptor = _open(root, name, folder=True)
    try:
        entries = sorted(os.scandir(descriptor), key=lambda entry: entry.name)
        lines = []
        for entry in entries[:MAX_ENTRIES]:
            status = entry.stat(follow_symlinks=False)
            kind = _KINDS.get(stat.S_IFMT(status.st_mode), "special")
            size = f" {status.st_size} bytes" if kind == "file" else ""
            lines.append(f"{kind} {printable(entry.name)}{size}")
    finally:
        os.close(descriptor)
    if len(entries) > MAX_ENTRIES:
        lines.append(f"... and {len(entries) - MAX_ENTRIES} more, {len(entries)} in all")
    return "\n".join(lines) or "(empty)"


def read_text(root: Path, name: str, start: int = 0) -> str:
    """Up to `MAX_TEXT` characters of a text file, from a byte on.

    Raises:
        RefusedError: It is outside, a link, no file, or no text.
    """
    if start < 0:
        raise RefusedError(f"start is {start}; give 0 or more bytes")
    with _file(root, name) as file:
        size = os.fstat(file.fileno()).st_size
        file.seek(min(start, size))
        raw = file.read(4 * MAX_TEXT)
    if b"\0" in raw:
        raise RefusedError(f"{name} is no text: it holds NUL bytes ({size} bytes in all)")
    text = raw.decode("utf-8", "replace")
    if text.count("\N{REPLACEMENT CHARACTER}") > len(text) // 10:
        text = raw.decode("latin-1")
    shown = text[:MAX_TEXT]
    end = min(start + len(shown.encode()), size)
    more = f"\n[{size} bytes in all; to go on: start={end}]" if end < size else ""
    return printable(shown) + more


def summarise_table(root: Path, name: str) -> str:
    """What the columns of a CSV or TSV file hold, from its first `MAX_ROWS` rows, in constant memory.

    Raises:
        RefusedError: It is outside, a link, no file, or no table.
    """
    with _file(root, name) as file:
        text = io.TextIOWrapper(file, encoding="utf-8-sig", errors="replace", newline="")
        sample = text.read(65_536)
        if "\0" in sample:
            raise RefusedError(f"{name} is no table: it holds NUL bytes")
        text.seek(0)
        separator = _separator(sample)
        try:
            return _summary(csv.reader(_lines(text, name), delimiter=separator), name, separator)
        except csv.Error as error:
            raise RefusedError(f"{name} cannot be read as a table: {error}") from None


def summarise_bytes(content: bytes) -> str:
    """`summarise_table` of a CSV file in memory, by its columns alone: none of its rows is shown."""
    text = io.StringIO(content.decode("utf-8-sig", "replace"), newline="")
    return _summary(csv.reader(text), "the table", ",", rows_shown=0)


def survey(root: Path) -> str:
    """The whole tree in a page: sizes of files, folders with many entries by their first few, `_DEPTH` levels deep."""
    lines = list(islice(_tree(root, 0), MAX_LISTED + 1))
    if len(lines) > MAX_LISTED:
        lines[-1] = f"... and more: only the first {MAX_LISTED} lines are shown"
    return "\n".join(lines) or "(empty)"


def tables(root: Path) -> list[str]:
    """The names of all CSV and TSV files, largest first."""
    found = [path for path in root.rglob("*") if path.suffix.lower() in {".csv", ".tsv"} and path.is_file()]
    return [path.relative_to(root).as_posix() for path in sorted(found, key=lambda path: (-path.stat().st_size, path))]


def _lines(text: io.TextIOBase, name: str) -> Iterator[str]:
    """The lines of a table, none of which may fill the memory."""
    read = 0
    while line := text.readline(MAX_LINE):
        read += len(line)
        if read > MAX_TABLE:  # a quotation mark that is never closed makes one cell of the whole file
            raise RefusedError(f"{name} is not summed up: its first rows have more than {MAX_TABLE:,} characters")
        if len(line) == MAX_LINE and not line.endswith("\n"):
            raise RefusedError(f"{name} is no table: it has a line of more than {MAX_LINE:,} characters")
        yield line


_KINDS = {stat.S_IFDIR: "folder", stat.S_IFREG: "file", stat.S_IFLNK: "link"}


def _open(root: Path, name: str, *, folder: bool) -> int:
    """Open what a name means below ``root``, step by step, so that no link is followed on the way."""
    path = PurePosixPath(name or ".")
    if path.is_absolute() or ".." in path.parts or "\0" in name or "\\" in name:
        raise RefusedError(f"{name!r} is refused: give a name below the data folder, without '..', such as train.csv")
    descriptor = os.open(root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        for place, part in enumerate(path.parts):
            last = place == len(path.parts) - 1
            flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
            if folder or not last:
                flags |= os.O_DIRECTORY
            inner = os.open(part, flags, dir_fd=descriptor)
            os.close(descriptor)
            descriptor = inner
    except OSError as error:
        os.close(descriptor)
        raise RefusedError(f"{name!r} cannot be opened: {error.strerror or error}") from None
    if not folder and not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise RefusedError(f"{name!r} is no plain file")
    return descriptor


def _file(root: Path, name: str) -> BinaryIO:
    return os.fdopen(_open(root, name, folder=False), "rb")


def _separator(sample: str) -> str:
    line = sample.partition("\n")[0]
    return max(",\t;|", key=lambda mark: (line.count(mark), mark == ","))


class _Column:
    def __init__(self, name: str) -> None:
        self.name = name
        self.missing = 0
        self.numbers = 0
        self.integers = 0
        self.least = float("inf")
        self.most = float("-inf")
        self.longest = 0
        self.values: Counter[str] = Counter()
        self.many = False

    def add(self, cell: str) -> None:
        cell = cell.strip()
        if not cell:
            self.missing += 1
            return
        self.longest = max(self.longest, len(cell))
        if not self.many:
            self.values[cell[:MAX_CELL]] += 1
            self.many = len(self.values) > _DISTINCT
        try:
            number = float(cell)
        except ValueError:
            return
        self.numbers += 1
        self.integers += cell.lstrip("+-").isdigit()
        self.least, self.most = min(self.least, number), max(self.most, number)

    def describe(self, rows: int) -> str:
        there = rows - self.missing
        distinct = f"more than {_DISTINCT}" if self.many else str(len(self.values))
        if there and self.numbers == there:
            kind = "whole numbers" if self.integers == there else "numbers"
            kind += f" from {self.least:g} to {self.most:g}"
        else:
            kind = f"text of up to {self.longest} characters" if there else "nothing"
        common = ", ".join(f"{printable(value)} ({count})" for value, count in self.values.most_common(_SHOWN))
        return f"- {printable(self.name)}: {kind}; {distinct} different, {self.missing} empty; such as {common or '-'}"


def _summary(reader: Iterator[list[str]], name: str, separator: str, rows_shown: int = 3) -> str:
    header = next(reader, None)
    if not header:
        raise RefusedError(f"{name} is empty")
    columns = [_Column(cell.strip()) for cell in header[:MAX_COLUMNS]]
    rows = ragged = 0
    first: list[list[str]] = []
    whole = True
    for row in reader:
        if rows == MAX_ROWS:
            whole = False
            break
        if not row:
            continue
        rows += 1
        ragged += len(row) != len(header)
        if len(first) < rows_shown:
            first.append([cell[:MAX_CELL] for cell in row[:MAX_COLUMNS]])
        for column, cell in zip(columns, row, strict=False):
            column.add(cell)
    lines = [f"{rows} rows" if whole else f"at least {rows} rows; the first {rows} were looked at"]
    lines[0] += f", {len(header)} columns, separated by {separator!r}"
    if ragged:
        lines.append(f"{ragged} rows have another number of cells than the header")
    if len(header) > MAX_COLUMNS:
        lines.append(f"the first {MAX_COLUMNS} columns:")
    lines += [column.describe(rows) for column in columns]
    lines += ["first rows:"] * bool(first)
    lines += [printable(separator.join(row)) for row in first]
    return "\n".join(lines)


def _tree(folder: Path, depth: int) -> Iterator[str]:
    entries = sorted(os.scandir(folder), key=lambda entry: (entry.is_dir(follow_symlinks=False), entry.name))
    shown = entries if len(entries) <= _FOLD_ABOVE else entries[:_SHOWN]
    indent = "  " * depth
    for entry in shown:
        if entry.is_dir(follow_symlinks=False):
            yield f"{indent}{printable(entry.name)}/"
            yield from _tree(folder / entry.name, depth + 1) if depth + 1 < _DEPTH else [f"{indent}  ..."]
        else:
            yield f"{indent}{printable(entry.name)} ({entry.stat(follow_symlinks=False).st_size} bytes)"
    if len(shown) < len(entries):
        endings = Counter((os.path.splitext(entry.name)[1] or "no ending") for entry in entries)  # noqa: PTH122 - a name
        kinds = ", ".join(f"{count} {ending}" for ending, count in endings.most_common(_SHOWN))
        yield f"{indent}... {len(entries)} entries in all: {kinds}"
