"""One way to read a table: its cells as text, piece by piece, or a `Refused` that says why not.

Nothing is inferred here. A cell is the text that stands in the file, an empty cell is the empty string, and there is
no list of words that mean "missing". The rules:

- UTF-8, any number of byte-order marks; lines end with CRLF, LF or CR; fields are separated by commas and may be
  quoted, with doubled quotes, separators and line breaks inside. Wholly empty lines are skipped.
- Every row has as many fields as the header. One empty extra field at the end is accepted if every row has it.
- Names are stripped of blanks and must differ. The only unnamed columns accepted are a leading one that holds each of
  0..n-1 once (a data frame's index; dropped with a warning) and a trailing one that is empty on every row.

This reader decides what every file means and words every problem. `plain_blocks` reads large files that hold nothing
unusual by the same rules, only faster.
"""

from __future__ import annotations

import io
import re
from array import array
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from openmle_env.graders.echo import MAX_EXAMPLES, show, show_some
from openmle_env.graders.loading.records import Records
from openmle_env.graders.loading.source import Refused, Source, refuse
from openmle_env.types import Problem

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

BATCH_CELLS = 200_000
"""About how many cells are handed on at once."""

_NUMBER = re.compile(r"0|[1-9][0-9]{0,17}")


@dataclass(frozen=True, slots=True)
class Table:
    """Columns of text, as they stand in the file."""

    names: tuple[str, ...]
    """Every named column of the file, in its order."""
    columns: dict[str, list[str]]
    """The cells of the columns that were asked for."""
    rows: int
    warnings: tuple[str, ...] = ()


def read_table(content: bytes, *, wanted: Collection[str] | None = None, max_rows: int | None = None) -> Table:
    """Parse a CSV file into text cells, keeping the ``wanted`` columns (all, if None). For files that are small.

    Raises:
        Refused: The file is empty, not UTF-8, wrongly quoted, ragged, longer than ``max_rows`` rows, or its
            header has duplicated or unnamed columns.
    """
    reader = TextReader(Source(io.BytesIO(content), len(content)))
    kept = [name for name in reader.names if wanted is None or name in wanted]
    columns: dict[str, list[str]] = {name: [] for name in kept}
    for batch in reader.batches(kept, max_rows=max_rows):
        for column, cells in zip(columns.values(), batch, strict=True):
            column.extend(cells)
    return Table(reader.names, columns, reader.rows, reader.warnings)


class TextReader:
    """Reads a table's header at once, and then its cells, batch by batch."""

    header: tuple[str, ...]
    """The name of each field; empty where it has none."""
    names: tuple[str, ...]
    """The named columns, in the order of the file."""
    rows: int
    """How many were read so far."""
    warnings: tuple[str, ...]
    """What people should know; complete when all batches were read."""

    def __init__(self, source: Source) -> None:
        """Read the header from a source that stands at its start.

        Raises:
            Refused: As for `read_table`, as far as the header shows it.
        """
        self._records = Records(source)
        self._lines = iter(self._records)
        _, header = next(self._lines, (0, []))
        self.header = tuple(_names(header))
        self.names = tuple(name for name in self.header if name)
        self.rows = 0
        self.warnings = ()

    def batches(self, wanted: Collection[str], *, max_rows: int | None = None) -> Iterator[list[list[str]]]:
        """The cells of the columns named in ``wanted``, in that order, a few thousand rows at a time.

        Raises:
            Refused: As for `read_table`. Columns without a name are judged after the last batch.
        """
        kept = [self.header.index(name) for name in wanted]
        unnamed = _UnnamedColumns(self.header)
        full = max(1, BATCH_CELLS // (len(kept) or 1))
        cells: list[list[str]] = [[] for _ in kept]
        pieces = self._records.pieces
        for record in self._rows(max_rows):
            for i, column in zip(kept, cells, strict=True):
                column.append(record[i])
            if unnamed.any:
                unnamed.look_at(record)
            if self.rows % full == 0 or self._records.pieces != pieces:  # long cells fill a batch, too
                pieces = self._records.pieces
                yield cells
                cells = [[] for _ in kept]
        yield cells
        self.warnings = unnamed.judge()

    def _rows(self, max_rows: int | None) -> Iterator[list[str]]:
        """The records below the header, each with as many fields; or with one more, if that is empty on all."""
        width = len(self.header)
        trailing = first_trailing = 0
        for line, record in self._lines:
            if len(record) != width:
                if len(record) != width + 1 or record[-1].strip():
                    raise _ragged(line, width, len(record))
                trailing += 1
                first_trailing = first_trailing or line
            self.rows += 1
            if max_rows is not None and self.rows > max_rows:
                raise too_many_rows(max_rows)
            yield record
        if 0 < trailing < self.rows:
            raise _ragged(first_trailing, width, width + 1)


class _UnnamedColumns:
    """The first and the last column, where they have no name: an index, and what trailing separators leave."""

    def __init__(self, header: tuple[str, ...]) -> None:
        self._first = not header[0]
        self._last = None if header[-1] else len(header) - 1
        self._numbers = array("q")
        self._only_numbers = True
        self._empty = True
        self.any = self._first or self._last is not None

    def look_at(self, record: list[str]) -> None:
        if self._first and self._only_numbers:
            cell = record[0].strip()
            self._only_numbers = _NUMBER.fullmatch(cell) is not None
            if self._only_numbers:
                self._numbers.append(int(cell))
        if self._last is not None and record[self._last].strip():
            self._empty = False

    def judge(self) -> tuple[str, ...]:
        """The warnings.

        Raises:
            Refused: The first is not exactly the numbers 0..n-1, in any order (row order never matters), or the last
                is not empty.
        """
        if self._first:
            numbers = np.sort(np.array(self._numbers, dtype=np.int64))
            if not self._only_numbers or not np.array_equal(numbers, np.arange(len(numbers))):
                raise _unnamed(0)
        if self._last is not None and not self._empty:
            raise _unnamed(self._last)
        if not self._numbers:
            return ()
        return ("The unnamed first column 0..n-1 (an index) is ignored; write with index=False.",)


def _names(header: list[str]) -> list[str]:
    """The names in the first record; all that can be wrong with them is found before a row is read."""
    names = [name.replace("\ufeff", "").strip() for name in header]  # a mark may have been saved inside the quotes
    if not any(names):
        raise refuse("empty_file", "The file is empty: it has no header. Write a header line and one row for each id.")
    twice = [name for name, count in Counter(names).items() if name and count > 1]
    if twice:
        raise Refused(
            Problem(
                code="duplicate_columns",
                message=f"Column names appear more than once: {show_some(twice, len(twice))}. Keep one of each.",
                count=len(twice),
                examples=tuple(show(name) for name in twice[:MAX_EXAMPLES]),
            )
        )
    inner = next((i for i, name in enumerate(names[1:-1], 1) if not name), None)
    if inner is not None:
        raise _unnamed(inner)
    return names


def too_many_rows(limit: int) -> Refused:
    """What is raised of a file with more rows."""
    return refuse("too_many_rows", f"The file has more than {limit:,} rows. Write one row for each id.")


def _ragged(line: int, expected: int, found: int) -> Refused:
    hint = "Put quotes around a value that contains a comma." if found > expected else "Write all values."
    return refuse(
        "ragged_row", f"Line {line:,}: expected {expected:,} fields, as in the header, found {found:,}. {hint}"
    )


def _unnamed(position: int) -> Refused:
    return refuse(
        "unnamed_column",
        f"Column {position + 1:,} has no name. Write the file without the data frame's index (index=False), "
        "and name every column.",
    )
