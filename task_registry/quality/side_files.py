"""Which public file belongs to which row that is predicted, and the words that can be read off a file of any kind."""

from __future__ import annotations

import bz2
import gzip
import lzma
import re
import zipfile
import zlib
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, BinaryIO

import numpy as np

from openmle_env.task_registry import files
from openmle_env.task_registry.quality.scan import SUFFIXES
from openmle_env.task_registry.quality.subject import TEST

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from io import BufferedIOBase
    from pathlib import Path

    from openmle_env.graders.rows import Array
    from openmle_env.task_registry.quality.subject import Subject

MAX_PIECE = 1 << 16
"""As many bytes of the head, and of the tail, of a file that is no text are searched for words."""
MAX_TEXT = 32 << 20
"""As many bytes of a text are read."""
MAX_MEMBERS = 2_000
MAX_ROWS = 2_000
"""As many rows that are predicted are looked for in texts."""
WHOLE_TEXTS = (".json", ".jsonl", ".txt", ".md", ".log", ".tsv", ".xml", ".html", ".yaml", ".yml", ".ini", ".toml")
_STRINGS = re.compile(rb"[\x20-\x7e]{3,}")
_WIDE_STRINGS = re.compile(rb"(?:[\x20-\x7e]\x00){3,}")
_PNG_TEXT = re.compile(rb"(?:zTXt|iTXt)")
_OPENERS: dict[bytes, Callable[[BinaryIO], BufferedIOBase]] = {
    b"\x1f\x8b": lambda file: gzip.GzipFile(fileobj=file),
    b"BZh": bz2.BZ2File,
    b"\xfd7zXZ": lzma.LZMAFile,
}
_ZLIB = (b"x\x01", b"x\x5e", b"x\x9c", b"x\xda")
"""How compressed files begin."""
WORDS = re.compile(r"[^\W_]+(?:[.\-'][^\W_]+)*")


def by_row(subject: Subject) -> dict[int, list[str]]:
    """For each row that is predicted the public files that belong to it: named by its id, or by a cell of `test.csv`.

    Files that belong to several rows, such as an archive of all, are not among them.
    """
    rows = subject.test_rows
    place = _places(subject)
    if not place:
        return {}
    columns = [rows.keys]
    if TEST in subject.public_files and subject.id_name in subject.table(TEST).names:
        test = subject.table(TEST)
        here, there = rows.rows_in(subject.keys(test))
        if len(here) == len(rows.keys):
            columns += [test.cells[name][there] for name in test.names if name != subject.id_name]
    found: dict[int, list[str]] = {}
    for cells in columns:
        for row, cell in enumerate(cells):
            for name in place.get(cell.strip(), ()):
                if name not in found.setdefault(row, []):
                    found[row].append(name)
    words = _by_words(subject, found)
    for row, names in words.items():
        found.setdefault(row, []).extend(names)
    return {row: names for row, names in found.items() if names}


def _places(subject: Subject) -> dict[str, list[str]]:
    """The public files but tables, by each way in which a cell may name one."""
    place: dict[str, list[str]] = {}
    for name in subject.public_files:
        if not name.lower().endswith(SUFFIXES):
            path = PurePosixPath(name)
            for key in {name, path.name, path.stem, path.name.partition(".")[0]}:
                place.setdefault(key, []).append(name)
    return place


def _by_words(subject: Subject, found: dict[int, list[str]]) -> dict[int, list[str]]:
    """Files whose names hold an id among other words, such as ``test/cat_0012.png`` for the id 0012."""
    taken = {name for names in found.values() for name in names}
    row_of = {key: row for row, key in enumerate(subject.test_rows.keys) if len(key) > 1}
    words: dict[int, list[str]] = {}
    for name in subject.public_files:
        if name in taken or name.lower().endswith(SUFFIXES) or "train" in name:
            continue
        stem = PurePosixPath(name).name.partition(".")[0]
        for word in {stem, *re.split(r"[_\-.]", stem), *re.findall(r"\d+|[^\W\d_]+", stem)}:
            if word in row_of:
                words.setdefault(row_of[word], []).append(name)
    return words


def sizes_by_row(subject: Subject) -> Array | None:
    """Bytes of the files of each row that is predicted; None where the rows have no files of their own."""
    found = subject.owned_files
    if len(found) < len(subject.test_rows.keys) or not found:
        return None
    return np.array(
        [
            sum(subject.public_files[name].stat().st_size for name in found[row])
            for row in range(len(subject.test_rows.keys))
        ],
        dtype=np.float64,
    )


def texts(path: Path, name: str) -> Iterator[str]:
    """What can be read in a file: all of a text; of anything else strings of head, tail, comments and members.

    Raises:
        PackError: It cannot be read.
    """
    with files.opened(path) as file:
        if PurePosixPath(name).suffix.lower() in WHOLE_TEXTS:
            yield file.read(MAX_TEXT).decode("utf-8", "replace")
            return
        size = path.stat().st_size
        head = file.read(MAX_PIECE)
        file.seek(max(len(head), size - MAX_PIECE))
        tail = file.read(MAX_PIECE)
        for piece in (head, tail):
            yield from _strings(piece)
        yield from _unpacked(file, head)
        if head.startswith(b"\x89PNG"):
            yield from _inflated(head)
        if head.startswith(b"PK"):
            yield from _members(path)


def _strings(piece: bytes) -> Iterator[str]:
    for match in _STRINGS.findall(piece):
        yield match.decode("ascii")
    for match in _WIDE_STRINGS.findall(piece):
        yield match.decode("utf-16-le", "replace")


def _unpacked(file: BinaryIO, head: bytes) -> Iterator[str]:
    """The text of one compressed file; of anything else that was compressed the strings at its begin."""
    file.seek(0)
    opener = next((one for mark, one in _OPENERS.items() if head.startswith(mark)), None)
    try:
        if opener is not None:
            with opener(file) as unpacked:
                content = unpacked.read(MAX_TEXT)
        elif head.startswith(_ZLIB):
            content = zlib.decompressobj().decompress(file.read(MAX_TEXT), MAX_TEXT)
        else:
            return
    except (OSError, EOFError, zlib.error, lzma.LZMAError):
        return
    if b"\0" in content[:MAX_PIECE]:
        yield from _strings(content[:MAX_PIECE])
    else:
        yield content.decode("utf-8", "replace")


def _inflated(head: bytes) -> Iterator[str]:
    """The compressed texts of a PNG."""
    for match in _PNG_TEXT.finditer(head):
        start = head.find(b"\x78", match.end())
        if start > 0:
            try:
                yield zlib.decompressobj().decompress(head[start:], MAX_PIECE).decode("utf-8", "replace")
            except zlib.error:
                continue


def _members(path: Path) -> Iterator[str]:
    """Names and comments inside a ZIP archive, and its texts and tables as long as they are no more than one text."""
    left = MAX_TEXT
    try:
        with files.opened(path) as file, zipfile.ZipFile(file) as archive:
            yield archive.comment.decode("utf-8", "replace")
            for member in archive.infolist()[:MAX_MEMBERS]:
                yield member.filename
                yield member.comment.decode("utf-8", "replace")
                is_text = PurePosixPath(member.filename).suffix.lower() in {*WHOLE_TEXTS, ".csv"}
                if is_text and member.file_size <= left and not member.flag_bits & 1:
                    left -= member.file_size
                    yield archive.read(member).decode("utf-8", "replace")
    except (zipfile.BadZipFile, zlib.error, lzma.LZMAError, NotImplementedError, EOFError):
        return
