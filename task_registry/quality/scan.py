"""Reading a table of any size once, in constant memory: its header, its rows counted, what is wrong, and a sample."""

from __future__ import annotations

import gzip
import io
import zlib
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, BinaryIO, cast

import numpy as np

from openmle_env.graders.loading.source import Refused, Source
from openmle_env.graders.loading.table import TextReader
from openmle_env.task_registry import files

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from openmle_env.graders.rows import Array
    from openmle_env.types import Problem

MAX_ROWS = 20_000
"""As many rows are kept of a table; of a larger one a sample, chosen by a hash of the id or of the row's number."""
MAX_CELLS = 2_000_000
"""As many cells are kept, so that of wide tables there are fewer rows."""
MIN_ROWS = 500
MAX_BYTES = 128 << 20
"""As much of a table is read."""

SUFFIXES = (".csv", ".csv.gz")


@dataclass(frozen=True, slots=True, eq=False)
class Scan:
    """What was seen of a table."""

    name: str
    names: tuple[str, ...] = ()
    """Its named columns."""
    rows: int = 0
    """How many were read."""
    complete: bool = True
    """Whether that is all of it, rather than the first `MAX_BYTES`."""
    problem: Problem | None = None
    """Why it is no table, or where it stops being one."""
    cells: dict[str, Array] = field(default_factory=dict)
    """The cells of the kept rows, as texts; shape (kept,), objects."""
    positions: Array = field(default_factory=lambda: np.empty(0, np.int64))
    """The numbers of the kept rows, from 0."""

    @property
    def sampled(self) -> bool:
        """Whether rows were left out."""
        return not self.complete or len(self.positions) < self.rows

    @property
    def sample_words(self) -> str:
        """How much was looked at, for people."""
        if not self.sampled:
            return f"all {self.rows:,} rows of {self.name}"
        more = "" if self.complete else f" (of its first {MAX_BYTES >> 20} MiB)"
        return f"{len(self.positions):,} of {self.rows:,} rows of {self.name}{more}"


def scan(path: Path, name: str, *, key: str = "") -> Scan:
    """Read a CSV file, compressed with gzip or not.

    Args:
        path: The file.
        name: What it is called in findings.
        key: A column by which rows are sampled where there are many, so that samples of two tables hold the same ids.
    """
    sample: _Sample | None = None
    reader: TextReader | None = None
    problem: Problem | None = None
    complete = True
    try:
        with _open(path) as source:
            reader = TextReader(source)
            sample = _Sample(reader.names, key)
            for batch in reader.batches(reader.names):
                sample.add(batch)
    except Refused as refused:
        if refused.problem.code == "too_large" and reader is not None:
            complete = False
        else:
            problem = refused.problem
    if reader is None or sample is None:
        return Scan(name, problem=problem, complete=complete)
    return Scan(name, reader.names, sample.seen, complete, problem, *sample.arrays())


def header(path: Path) -> tuple[str, ...]:
    """The named columns of a CSV file; none where it is no table."""
    try:
        with _open(path) as source:
            return TextReader(source).names
    except Refused:
        return ()


@contextmanager
def _open(path: Path) -> Iterator[Source]:
    with files.opened(path) as file:
        if not path.name.endswith(".gz"):
            yield Source(file, path.stat().st_size, MAX_BYTES)
            return
        with gzip.open(file) as unpacked:
            yield Source(cast("BinaryIO", _Whole(unpacked)), path.stat().st_size, MAX_BYTES)


class _Whole(io.RawIOBase):
    """Reads a compressed file; a damaged one is an error of the operating system, as a source knows them."""

    def __init__(self, file: gzip.GzipFile) -> None:
        self._file = file

    def read(self, size: int = -1) -> bytes:
        try:
            return self._file.read(size)
        except (EOFError, zlib.error) as error:
            raise OSError(5, "the compressed data is damaged") from error


class _Sample:
    """Rows that are kept: all, until there are too many; then every row whose hash is below a falling threshold."""

    def __init__(self, names: tuple[str, ...], key: str) -> None:
        self._names = names
        self._key = names.index(key) if key in names else None
        self._most = min(MAX_ROWS, max(MIN_ROWS, MAX_CELLS // max(1, len(names))))
        self._cells: list[list[str]] = [[] for _ in names]
        self._positions: list[int] = []
        self._hashes: list[int] = []
        self._halvings = 0
        self.seen = 0

    def add(self, batch: list[list[str]]) -> None:
        """Take a batch of columns."""
        count = len(batch[0]) if batch else 0
        positions = range(self.seen, self.seen + count)
        keys = map(str, positions) if self._key is None else (cell.strip() for cell in batch[self._key])
        hashes = [zlib.crc32(key.encode("utf-8", "surrogatepass")) for key in keys]
        self.seen += count
        for column, cells in zip(self._cells, batch, strict=True):
            column.extend(cells)
        self._positions.extend(positions)
        self._hashes.extend(hashes)
        if self._halvings:
            self._thin()
        while len(self._positions) > self._most and self._halvings < 32:
            self._halvings += 1
            self._thin()

    def _thin(self) -> None:
        kept = [i for i, one in enumerate(self._hashes) if one >> (32 - self._halvings) == 0]
        self._cells = [[column[i] for i in kept] for column in self._cells]
        self._positions = [self._positions[i] for i in kept]
        self._hashes = [self._hashes[i] for i in kept]

    def arrays(self) -> tuple[dict[str, Array], Array]:
        """The kept cells by column, and the rows' numbers."""
        cells = {name: _texts(column) for name, column in zip(self._names, self._cells, strict=True)}
        return cells, np.array(self._positions, dtype=np.int64)


def _texts(cells: list[str]) -> Array:
    array = np.empty(len(cells), dtype=object)
    array[:] = cells
    return array
