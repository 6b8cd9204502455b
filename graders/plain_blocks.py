"""Reading a large file that holds nothing unusual, block by block, with pandas' C parser and on several threads.

It never decides anything: a block is used only where it is certain that `table` and `cells` would read the same from
it, and every other one gets a closer look there. Certain means: valid UTF-8, no NUL, quotes around whole fields only
and none inside, carriage returns before line feeds only, as many fields on each row as in the header, and, for
numbers, none of the spellings in which pandas is known to be more generous than we are (see `_numbers`).
"""

from __future__ import annotations

import csv
import io
import math
import os
import re
from collections import deque
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from openmle_env.graders.batches import Batch, from_cells
from openmle_env.graders.cells import canonical_ids, convert
from openmle_env.graders.source import Refused, Source
from openmle_env.graders.table import TextReader

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from concurrent.futures import Future

    from openmle_env.graders.batches import Plan
    from openmle_env.graders.rows import Array
    from openmle_env.types import Column

Kept = TypeVar("Kept")

MIN_BYTES = 1 << 20
"""Smaller files are not worth an import of pandas."""

BLOCK = 2 << 20
"""Bytes that are read and converted at once."""

MAX_LINE = 16 << 20
"""Bytes of a line; a file with a longer one is not plain."""

MAX_THREADS = 4

LONG_CELL = 500
"""No number of more than twice as many characters is read here."""

_ALL = bytes(range(256))
_SEPARATORS = _ALL.translate(None, b',\n\r"\0')
_DIGITS = b"0123456789+-"
_BLANKS = (b" ", b"\t", b"\v", b"\f")
_BLANK_IN_EXPONENT = re.compile(rb"[eE][ \t\v\f]")


def read(
    source: Source, header: Sequence[str], plan: Plan, keep: Callable[[Batch], Kept], *, max_rows: int | None
) -> list[Kept] | None:
    """Read a file that stands at its start.

    Args:
        source: The file.
        header: The names that `TextReader` found in it.
        plan: Which columns are converted, and how.
        keep: What is done with each batch; called on several threads.
        max_rows: The most rows.

    Returns:
        What ``keep`` gave for each batch, in the order of the file; None where the file is not plain, or has more rows.

    Raises:
        Refused: The file cannot be read.
    """
    blocks = _blocks(source)
    first = next(blocks, None)
    if first is None or not all(header):
        return None
    line, _, rest = first.partition(b"\n")
    if not _is_header(line, header):
        return None
    reader = _BlockReader(plan, tuple(header))
    kept: list[Kept] = []
    rows = 0
    for done in _in_order(reader, keep, rest, blocks):
        if done is None:
            return None
        rows += done[0]
        if max_rows is not None and rows > max_rows:
            return None
        kept.append(done[1])
    return kept


def _in_order(
    reader: _BlockReader, keep: Callable[[Batch], Kept], first: bytes, blocks: Iterator[bytes]
) -> Iterator[tuple[int, Kept] | None]:
    """Rows and result of each block; the first one alone, since it shows whether the rest is worth threads."""

    def work(block: bytes) -> tuple[int, Kept] | None:
        batch = reader.batch(block)
        return None if batch is None else (batch.rows, keep(batch))

    if first:
        yield work(first)
    threads = min(MAX_THREADS, len(os.sched_getaffinity(0)))
    running: deque[Future[tuple[int, Kept] | None]] = deque()
    with ThreadPoolExecutor(threads) as pool:
        try:
            for block in blocks:
                running.append(pool.submit(work, block))
                if len(running) > threads + 1:  # no more blocks in memory than are worked on
                    yield running.popleft().result()
            while running:
                yield running.popleft().result()
        finally:
            for future in running:
                future.cancel()


def _blocks(source: Source) -> Iterator[bytes]:
    """Whole lines, each block ending with a line feed; stops early where a line is too long to be plain."""
    waiting = b""
    while piece := source.read(BLOCK):
        cut = piece.rfind(b"\n") + 1
        if cut:
            yield waiting + piece[:cut]
            waiting = piece[cut:]
        else:
            waiting += piece
            if len(waiting) > MAX_LINE:
                yield b'"\n'  # which no reader of blocks takes
                return
    if waiting:
        yield waiting + b"\n"


def _is_header(line: bytes, header: Sequence[str]) -> bool:
    try:
        return TextReader(Source(io.BytesIO(line), len(line))).header == tuple(header)
    except Refused:
        return False


@dataclass(frozen=True, slots=True)
class _BlockReader:
    plan: Plan
    header: tuple[str, ...]

    def batch(self, block: bytes) -> Batch | None:
        """The rows of a block; None where it is not plain."""
        width = len(self.header)
        shape = block.translate(None, _SEPARATORS)
        pattern = b"," * (width - 1) + b"\n"
        rows = len(shape) // width
        if shape != pattern * rows:
            plain = _undressed(block, shape)
            if plain is None:
                return None
            block, shape = plain
            rows = len(shape) // width
            if shape != pattern * rows:
                return None
        if width == 1 and (block.startswith(b"\n") or b"\n\n" in block):
            return None  # an empty line is no row
        text = ""
        if not block.isascii():
            try:
                text = block.decode()
            except UnicodeDecodeError:
                return None
            if text.startswith("\ufeff"):
                return None  # pandas would take a mark in the first cell for one of the file
        return self._arrays(block, text, rows) or from_cells(self.plan, self._cells(block, text))

    def _cells(self, block: bytes, text: str, chosen: Sequence[str] | None = None) -> list[list[str]]:
        cells = (text or block.decode()).replace("\n", ",").split(",")
        del cells[-1]
        width = len(self.header)
        return [cells[self.header.index(name) :: width] for name in chosen or self.plan.names]

    def _arrays(self, block: bytes, text: str, rows: int) -> Batch | None:
        """The rows without a look at each cell; None where one is needed."""
        plan = self.plan
        by_text = [column.name for column in plan.columns if column.kind == "text"]
        if plan.id.kind != "integer" or plan.as_text:
            by_text.insert(0, plan.id.name)
        numbers = self._numbers(block, rows)
        if numbers is None:
            return None
        cells = dict(zip(by_text, self._cells(block, text, by_text), strict=True)) if by_text else {}
        if plan.id.name in cells:
            ids, bad, _ = canonical_ids(cells[plan.id.name], plan.id, as_text=plan.as_text)
            if bad:
                return None
        else:
            found = _converted(numbers[plan.id.name], plan.id)
            if found is None:
                return None
            ids = found
        values = []
        for column in plan.columns:
            if column.kind == "text":
                array, faults = convert(cells[column.name], column)
                found = None if faults else array
            else:
                found = _converted(numbers[column.name], column)
            if found is None:
                return None
            values.append(found)
        return Batch(rows=rows, keys=ids, values=values)

    def _numbers(self, block: bytes, rows: int) -> dict[str, Any] | None:
        """Arrays of the columns that are no text, as pandas reads them; None where that may differ from our reading."""
        kinds = {column.name: column.kind for column in self.plan.columns if column.kind != "text"}
        if len(kinds) < sum(column.kind != "text" for column in self.plan.columns):
            return None  # one column is read in two ways
        if self.plan.id.kind == "integer" and not self.plan.as_text:
            kinds[self.plan.id.name] = "integer"
        if not kinds:
            return {}
        places = {name: self.header.index(name) for name in kinds}
        strange = block.translate(None, _DIGITS)
        integers = [places[name] for name, kind in kinds.items() if kind == "integer"]
        if integers and not _only_digits(strange, integers, len(self.header), rows):
            return None
        # pandas takes blanks inside an exponent.
        if any(blank in strange for blank in _BLANKS) and _BLANK_IN_EXPONENT.search(strange):
            return None
        if _has_long_cell(block):
            return None
        frame = _parse(block, len(self.header), {places[name]: kind for name, kind in kinds.items()})
        if frame is None or len(frame) != rows:
            return None
        found = {name: frame[place] for name, place in places.items()}
        return found if self._first_row_agrees(block, kinds, found) else None

    def _first_row_agrees(self, block: bytes, kinds: Mapping[str, str], found: dict[str, Any]) -> bool:
        """Whether numbers are numbers: pandas takes a column that says true or false on every row for one."""
        first = block[: block.index(b"\n")].decode().split(",")
        columns = {column.name: column for column in self.plan.columns}
        for name, kind in kinds.items():
            if kind in {"number", "probability"}:
                values, faults = convert([first[self.header.index(name)]], columns[name])
                if faults or values[0] != found[name].iloc[0]:
                    return False
        return True


def _undressed(block: bytes, shape: bytes) -> tuple[bytes, bytes] | None:
    """The block with bare line feeds and without quotes, and its separators; None where that is not simple."""
    if b"\0" in shape:
        return None
    if b"\r" in shape:
        if block.count(b"\r") != block.count(b"\r\n"):
            return None
        block = block.replace(b"\r\n", b"\n")
    if b'"' in shape:
        # Each field has two quotes or none, and as many fields begin with one and end with one as have them.
        marks = block.translate(None, _SEPARATORS)
        quoted = marks.count(b'"') // 2
        opening = block.count(b',"') + block.count(b'\n"') + block.startswith(b'"')
        closing = block.count(b'",') + block.count(b'"\n')
        if b'""""' in marks or b'"' in marks.replace(b'""', b"") or opening != quoted or closing != quoted:
            return None
        block = block.translate(None, b'"')
    return block, block.translate(None, _SEPARATORS)


def _only_digits(strange: bytes, places: Sequence[int], width: int, rows: int) -> bool:
    """Whether the columns at ``places`` hold nothing but digits and signs, given the block without any of those."""
    if len(strange) == rows * width:
        return True
    characters = np.frombuffer(strange, np.uint8)
    ends = np.flatnonzero((characters == ord(",")) | (characters == ord("\n")))
    gaps = np.diff(ends, prepend=-1).reshape(rows, width)
    return all(bool((gaps[:, place] == 1).all()) for place in places)


def _has_long_cell(block: bytes) -> bool:
    """Whether any cell may have more than `LONG_CELL` bytes; surely where it has twice as many."""
    whole = len(block) // LONG_CELL * LONG_CELL
    characters = np.frombuffer(block, np.uint8)[:whole].reshape(-1, LONG_CELL)
    return not ((characters == ord("\n")) | (characters == ord(","))).any(axis=1).all()


def _parse(block: bytes, width: int, kinds: dict[int, str]) -> Any | None:
    """A data frame of the columns at the given places; None where pandas does not take them for what they should be."""
    import pandas as pd

    types = {"integer": np.int64, "number": np.float64, "probability": np.float64, "label": "category"}
    options: dict[str, Any] = {
        "header": None,
        "names": list(range(width)),
        "usecols": sorted(kinds) if len(kinds) < width else None,
        "dtype": {place: types[kind] for place, kind in kinds.items()},
        "na_filter": False,
        "index_col": False,
        "skip_blank_lines": False,
        "low_memory": False,
        "quoting": csv.QUOTE_NONE,
        "engine": "c",
    }
    if tuple(map(int, pd.__version__.split(".")[:2])) < (3, 1):
        options["float_precision"] = "round_trip"  # since then the default, and deprecated
    try:
        return pd.read_csv(io.BytesIO(block), **options)
    except (ValueError, OverflowError, TypeError):
        return None


def _converted(series: Any, column: Column) -> Array | None:
    """What pandas read as our array; None where a cell needs a closer look."""
    if column.kind == "label":
        codes, faults = convert([str(label) for label in series.cat.categories], column)
        return None if faults else codes.take(series.cat.codes.to_numpy())
    values = series.to_numpy()
    low, high = values.min(), values.max()  # NaN where there is any
    if column.kind == "integer":
        limits = np.iinfo(np.int64)  # what integers become that are too large
        good = values.dtype == np.int64 and limits.min < low and high < limits.max
    elif column.kind == "probability":
        good = low >= 0.0 and high <= 1.0
    else:
        good = math.isfinite(low) and math.isfinite(high)
    return values if good else None
