"""The records of a CSV file, decoded and split piece by piece, so that memory stays bounded."""

from __future__ import annotations

import codecs
import csv
import io
import re
from typing import TYPE_CHECKING

from openmle_env.graders.loading.source import refuse

if TYPE_CHECKING:
    from collections.abc import Iterator

    from openmle_env.graders.loading.source import Refused, Source

MAX_FIELDS = 10_000
"""The most fields of one row; a wider one is refused before it takes memory."""

MAX_RECORD = 64 << 20
"""The most characters of one row; with a quote that is never closed, the rest of the file looks like one row."""

PIECE = 1 << 20
"""Bytes that are read at once."""

_FIELD = re.compile(r'(?:"([^"]*+(?:""[^"]*+)*+)"|((?:[^",\r\n][^,\r\n]*+)?+))(,|\r\n|\r|\n|\Z)')
_LINE = re.compile(r"[^\n]+")
_NOT_BREAK = re.compile(r"[^\r\n]")

_COMPRESSED = {
    b"\x1f\x8b": "gzip",
    b"PK\x03\x04": "zip, as .xlsx files are, too",
    b"BZh": "bzip2",
    b"\xfd7zXZ\0": "xz",
    b"\x28\xb5\x2f\xfd": "zstandard",
}


class Records:
    """Yields the line number (from 1) and the cells of each record; wholly empty lines are skipped.

    Raises `Refused` where the file is not UTF-8, holds a NUL byte, is wrongly quoted, or has too long a row.
    """

    pieces: int
    """How many pieces of the file were read so far."""

    def __init__(self, source: Source) -> None:
        """Read a source that stands at its start."""
        self._source = source
        self._decoder = codecs.getincrementaldecoder("utf-8")()
        self._first = b""
        self._read = 0
        self._marked = True  # byte-order marks may still follow
        self._text = ""  # decoded, and not yet split
        self._line = 1
        self._quoted = False
        self.pieces = 0

    def __iter__(self) -> Iterator[tuple[int, list[str]]]:
        """The records, once."""
        ended = False
        while not ended:
            ended = not self._more()
            # From the first quote on, records are split field by field; before it, several times faster.
            yield from self._quoted_records(ended=ended) if self._quoted else self._plain_records(ended=ended)

    def _more(self) -> bool:
        """Decode one more piece; whether there was any."""
        if len(self._text) > MAX_RECORD:
            raise refuse(
                "too_long_row",
                f"Line {self._line:,}: a row of more than {MAX_RECORD:,} characters. End each row with a line break, "
                "and close each quoted field.",
            )
        piece = self._source.read(max(PIECE, len(self._text)))  # a long row is not searched again and again
        if not self._first:
            self._first = piece[:8]
            if piece.startswith((b"\xff\xfe", b"\xfe\xff")):
                raise refuse("not_utf8", "The file is UTF-16, not UTF-8. Save it as UTF-8.")
        text = self._decode(piece)
        if self._marked:
            text = text.lstrip("\ufeff")
            self._marked = not text
        self._quoted = self._quoted or '"' in text
        self._text += text
        self.pieces += 1
        return bool(piece)

    def _decode(self, piece: bytes) -> str:
        try:
            text = self._decoder.decode(piece, final=not piece)
        except UnicodeDecodeError as error:
            self._refuse_compressed()
            offset = self._read - (len(error.object) - len(piece)) + error.start
            byte = error.object[error.start]
            raise refuse(
                "not_utf8", f"The file is not UTF-8: byte 0x{byte:02x} at offset {offset:,}. Save it as UTF-8 text."
            ) from None
        if "\0" in text:
            self._refuse_compressed()
            offset = self._read + piece.find(b"\0")
            raise refuse("nul_byte", f"The file holds a NUL byte at offset {offset:,}. Write plain CSV text.")
        self._read += len(piece)
        return text

    def _refuse_compressed(self) -> None:
        """Say what a file that is no text is instead, where its first bytes tell."""
        for magic, kind in _COMPRESSED.items():
            if self._first.startswith(magic):
                raise refuse("not_utf8", f"The file is compressed ({kind}), not UTF-8 text. Write it as plain CSV.")

    def _plain_records(self, *, ended: bool) -> Iterator[tuple[int, list[str]]]:
        text = self._text
        split_end = text.endswith("\r") and not ended  # its LF may stand in the next piece
        if "\r" in text:
            text = text[:-1] if split_end else text
            text = text.replace("\r\n", "\n").replace("\r", "\n")
        cut = len(text) if ended else text.rfind("\n") + 1
        self._text = text[cut:] + ("\r" if split_end else "")
        for line, row in _lines(text[:cut], self._line):
            if row:
                if len(row) >= MAX_FIELDS and row.count(",") >= MAX_FIELDS:
                    raise _too_wide(line)
                yield line, row.split(",")
        self._line += text.count("\n", 0, cut)

    def _quoted_records(self, *, ended: bool) -> Iterator[tuple[int, list[str]]]:
        """Records as the csv module splits them, as long as it is sure of them and counts lines as we do."""
        text = self._text
        end = text.rfind("\n") + 1
        if text.count("\r") != text.count("\r\n") or text.count("\n\n\n") > len(text) // 8:
            end = 0  # it would miscount lines, or hand on each of those that are empty
        reader = csv.reader(io.StringIO(text[:end], newline="\n"), strict=True)
        first, lines = self._line, 0
        sure = True
        try:
            for cells in reader:
                self._line = first + lines
                lines = reader.line_num
                if len(cells) > MAX_FIELDS:
                    raise _too_wide(self._line)
                if cells:
                    yield self._line, cells
        except csv.Error:  # a field goes on in the next piece, is larger than that module reads, or is wrong
            sure = False
        self._line = first + lines
        if not sure:
            end = 0
            for _ in range(lines):
                end = text.index("\n", end) + 1
        self._text = text[end:]
        if ended or not sure or not end:
            yield from self._irregular_records(ended=ended)

    def _irregular_records(self, *, ended: bool) -> Iterator[tuple[int, list[str]]]:
        text = self._text
        position = 0
        while True:
            start = _NOT_BREAK.search(text, position)
            if start is None:
                break
            self._line += _breaks(text, position, start.start())
            position = first = start.start()
            cells: list[str] = []
            end = ","
            while end == ",":
                match = _FIELD.match(text, position)
                if match is None:
                    self._refuse_quoting(first, position, ended=ended)
                    self._text = text[first:]
                    return
                quoted, plain, end = match.groups()
                position = match.end()
                if position == len(text) and not ended and end != "\n" and end != "\r\n":  # noqa: PLR1714  faster
                    self._text = text[first:]
                    return
                cells.append(plain if quoted is None else quoted.replace('""', '"'))
                if len(cells) > MAX_FIELDS:
                    raise _too_wide(self._line)
            yield self._line, cells
            self._line += _breaks(text, first, position)
        kept = int(text.endswith("\r") and not ended and position < len(text))
        self._line += _breaks(text, position, len(text) - kept)
        self._text = text[len(text) - kept :]

    def _refuse_quoting(self, first: int, position: int, *, ended: bool) -> None:
        """Refuse what stands at ``position``, unless what is wrong may be mended by the next piece."""
        text = self._text
        line = self._line + _breaks(text, first, position)
        closing = text.find('"', position + 1)
        while closing >= 0 and text.startswith('"', closing + 1):
            closing = text.find('"', closing + 2)
        if not ended and (closing < 0 or closing + 1 == len(text)):
            return
        if closing < 0:
            raise refuse("bad_quoting", f"Line {line:,}: a quoted field is never closed. Close it with a double quote.")
        line += _breaks(text, position, closing)
        raise refuse(
            "bad_quoting", f"Line {line:,}: text follows the end of a quoted field. Double any quote inside it."
        )


def _lines(text: str, first: int) -> Iterator[tuple[int, str]]:
    """Lines with their numbers; most of those that are empty are left out, of which a file may have a billion."""
    return _full_lines(text, first) if "\n\n" in text else enumerate(text.split("\n"), first)


def _full_lines(text: str, first: int) -> Iterator[tuple[int, str]]:
    end = 0
    for match in _LINE.finditer(text):
        first += text.count("\n", end, match.start())
        end = match.end()
        yield first, match[0]


def _breaks(text: str, start: int, end: int) -> int:
    """How many lines end between two positions, of which none lies inside a CRLF."""
    return text.count("\n", start, end) + text.count("\r", start, end) - text.count("\r\n", start, end)


def _too_wide(line: int) -> Refused:
    return refuse("ragged_row", f"Line {line:,} has more than {MAX_FIELDS:,} fields. Write one row a line.")
