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
from openmle_env.graders.id_index import MAX_ID_BYTES, RowLookup, key_text, text_words
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

MAX_SPELLINGS = 1000
"""Spellings of the labels of one column that are remembered."""

_ALL = bytes(range(256))
_SEPARATORS = _ALL.translate(None, b',\n\r"\0')
_DIGITS = b"0123456789+-"
_NUMERIC = {"integer": np.int64, "number": np.float64, "probability": np.float64}
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
    labels = {column: _LabelReader(column) for column in plan.columns if column.kind == "label"}
    reader = _BlockReader(plan, tuple(header), labels)
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
    if b"\r" in line.removesuffix(b"\r"):
        return False
    try:
        return TextReader(Source(io.BytesIO(line), len(line))).header == tuple(header)
    except Refused:
        return False


@dataclass(frozen=True, slots=True)
class _BlockReader:
    plan: Plan
    header: tuple[str, ...]
    labels: Mapping[Column, _LabelReader]

    def batch(self, block: bytes) -> Batch | None:
        """The rows of a block; None where it is not plain."""
        width = len(self.header)
        rest = block.translate(None, _DIGITS)
        shape = rest.translate(None, _SEPARATORS)
        if not self._fits(shape):
            plain = _undressed(block)
            if plain is None:
                return None
            block = plain
            rest = block.translate(None, _DIGITS)
            shape = rest.translate(None, _SEPARATORS)
            if not self._fits(shape):
                return None
        if width == 1 and (block.startswith(b"\n") or b"\n\n" in block):
            return None  # an empty line is no row
        if not block.isascii():
            try:
                block.decode()
            except UnicodeDecodeError:
                return None
            if block.startswith(b"\xef\xbb\xbf"):
                return None  # pandas would take a mark in the first cell for one of the file
        rows = len(shape) // width
        return self._arrays(block, rest, rows) or from_cells(self.plan, self._cells(block, self.plan.names))

    def _fields(self, block: bytes, column: Column) -> _Fields:
        return _Fields.of(block, len(self.header), self.header.index(column.name))

    def _fits(self, shape: bytes) -> bool:
        """Whether separators are those of rows with as many fields as the header."""
        width = len(self.header)
        return shape == (b"," * (width - 1) + b"\n") * (len(shape) // width)

    def _cells(self, block: bytes, names: Sequence[str]) -> list[list[str]]:
        cells = block.decode().replace("\n", ",").split(",")
        del cells[-1]
        return [cells[self.header.index(name) :: len(self.header)] for name in names]

    def _arrays(self, block: bytes, rest: bytes, rows: int) -> Batch | None:
        """The rows without a look at each cell; None where one is needed. ``rest`` is the block without its digits."""
        plan = self.plan
        numbers = self._numbers(block, rest, rows)
        if numbers is None:
            return None
        ids: Array | list[str] | None
        if plan.id.kind == "integer":
            ids = None if plan.as_text else _converted(numbers[plan.id.name], plan.id)
        else:
            ids = self._fields(block, plan.id).ids(plan.id_bytes) if plan.id_bytes else None
        texts = [column.name for column in plan.columns if column.kind == "text"]
        if ids is None:
            texts.append(plan.id.name)
        cells = dict(zip(texts, self._cells(block, texts), strict=True)) if texts else {}
        if ids is None:
            ids, bad, huge = canonical_ids(cells[plan.id.name], plan.id, as_text=plan.as_text)
            if bad or huge:
                return None
        values = []
        for column in plan.columns:
            if column.kind == "text":
                array, faults = convert(cells[column.name], column)
                found = None if faults else array
            elif column.kind == "label":
                found = self.labels[column].codes(self._fields(block, column))
            else:
                found = _converted(numbers[column.name], column)
            if found is None:
                return None
            values.append(found)
        return Batch(rows=rows, keys=ids, values=values)

    def _numbers(self, block: bytes, rest: bytes, rows: int) -> dict[str, Any] | None:
        """Arrays of the columns that are no text, as pandas reads them; None where that may differ from our reading."""
        numeric = [column for column in self.plan.columns if column.kind in _NUMERIC]
        kinds = {column.name: column.kind for column in numeric}
        if len(kinds) < len(numeric):
            return None  # one column is read in two ways
        if self.plan.id.kind == "integer" and not self.plan.as_text:
            kinds[self.plan.id.name] = "integer"
        if not kinds:
            return {}
        places = {name: self.header.index(name) for name in kinds}
        integers = [places[name] for name, kind in kinds.items() if kind == "integer"]
        if integers and not _only_digits(rest, integers, len(self.header), rows):
            return None
        # pandas takes blanks inside an exponent.
        if any(blank in rest for blank in _BLANKS) and _BLANK_IN_EXPONENT.search(rest):
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


def _undressed(block: bytes) -> bytes | None:
    """The block with bare line feeds and without quotes; None where that is not simple."""
    if b"\0" in block:
        return None
    if b"\r" in block:
        if block.count(b"\r") != block.count(b"\r\n"):
            return None
        block = block.replace(b"\r\n", b"\n")
    if b'"' in block:
        # Each field has two quotes or none, and as many fields begin with one and end with one as have them.
        marks = block.translate(None, _SEPARATORS)
        quoted = marks.count(b'"') // 2
        opening = block.count(b',"') + block.count(b'\n"') + block.startswith(b'"')
        closing = block.count(b'",') + block.count(b'"\n')
        if b'""""' in marks or b'"' in marks.replace(b'""', b"") or opening != quoted or closing != quoted:
            return None
        block = block.translate(None, b'"')
    return block


def _ends(block: bytes, width: int) -> Array:
    """Where the fields of a block end; shape (rows, width)."""
    characters = np.frombuffer(block, np.uint8)
    return np.flatnonzero((characters == ord(",")) | (characters == ord("\n"))).reshape(-1, width)


def _only_digits(rest: bytes, places: Sequence[int], width: int, rows: int) -> bool:
    """Whether the columns at ``places`` hold nothing but digits and signs, given the block without any of those."""
    if len(rest) == rows * width:
        return True
    ends = _ends(rest, width)
    for place in places:
        if place:
            alone = ends[:, place] == ends[:, place - 1] + 1
        else:
            alone = ends[1:, 0] == ends[:-1, -1] + 1
            if ends[0, 0]:
                return False
        if not alone.all():
            return False
    return True


@dataclass(frozen=True, slots=True)
class _Fields:
    """Where the cells of one column of a block begin and end."""

    characters: Array
    """The bytes of the block, and `MAX_ID_BYTES` NUL bytes."""
    starts: Array
    ends: Array

    @classmethod
    def of(cls, block: bytes, width: int, place: int) -> _Fields:
        ends = _ends(block, width)
        before = ends[:, place - 1] if place else np.concatenate([[-1], ends[:-1, -1]])
        return cls(np.frombuffer(block + bytes(MAX_ID_BYTES), np.uint8), before + 1, ends[:, place])

    def words(self, size: int) -> Array:
        """The cells, none of which is longer than ``size`` bytes, padded to that size; (rows, size / 8), uint64."""
        cells = np.lib.stride_tricks.sliding_window_view(self.characters, size)[self.starts]
        cells &= np.tri(size + 1, size, -1, dtype=np.uint8)[self.ends - self.starts] * np.uint8(0xFF)
        words: Array = cells.view(np.uint64)
        return words

    def ids(self, size: int) -> Array | None:
        """The words of ids; None where one is empty, longer than ``size`` bytes, or may have blanks around it."""
        lengths = self.ends - self.starts
        if lengths.min() < 1 or lengths.max() > size:
            return None
        for edge in (self.characters[self.starts], self.characters[self.ends - 1]):
            if edge.min() <= ord(" ") or edge.max() >= 0x7F:
                return None
        return self.words(size)


class _LabelReader:
    """The labels of one column; every spelling is looked up once."""

    def __init__(self, column: Column) -> None:
        self._column = column
        self._spellings: tuple[str, ...] = column.labels

    def codes(self, fields: _Fields) -> Array | None:
        """The positions of the labels; None where a cell is none, or long."""
        lengths = fields.ends - fields.starts
        if lengths.min() < 1 or lengths.max() > MAX_ID_BYTES:
            return None
        size = -(-int(lengths.max()) // 8) * 8
        words = fields.words(size)
        while True:
            spellings = [text for text in self._spellings if len(text.encode()) <= size]
            places = RowLookup(text_words(spellings, size)).find(words)
            unknown = np.flatnonzero(places < 0)
            if not len(unknown):
                codes, _ = convert(spellings, self._column)
                found: Array = codes.take(places)
                return found
            new = {key_text(words, row) for row in unknown[:MAX_SPELLINGS].tolist()}
            if convert(list(new), self._column)[1] or len(spellings) > MAX_SPELLINGS:
                return None
            self._spellings = tuple(dict.fromkeys((*self._spellings, *new)))


def _has_long_cell(block: bytes) -> bool:
    """Whether any cell may have more than `LONG_CELL` bytes; surely where it has twice as many."""
    whole = len(block) // LONG_CELL * LONG_CELL
    parts = np.frombuffer(block, np.uint8)[:whole].reshape(-1, LONG_CELL)
    parts = parts[~(parts == ord("\n")).any(axis=1)]
    return not (parts == ord(",")).any(axis=1).all()


def _parse(block: bytes, width: int, kinds: dict[int, str]) -> Any | None:
    """A data frame of the columns at the given places; None where pandas does not take them for what they should be."""
    import pandas as pd

    options: dict[str, Any] = {
        "header": None,
        "names": list(range(width)),
        "usecols": sorted(kinds) if len(kinds) < width else None,
        "dtype": {place: _NUMERIC[kind] for place, kind in kinds.items()},
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
