"""Reading a large file that holds nothing unusual, block by block, with pandas' C parser and on several threads.

It decides only what is certain: a block is used where `table` and `cells` would surely read the same from it, and every
other one gets a closer look there. Certain means: valid UTF-8, no NUL, quotes around whole fields only
and none inside, carriage returns before line feeds only, as many fields on each row as in the header, and numbers
in none of the spellings that `plain_numbers` names.
"""

from __future__ import annotations

import io
import os
from collections import deque
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

from openmle_env.graders.loading.batches import Batch, from_cells
from openmle_env.graders.loading.block_layout import BlockLayout, LabelReader
from openmle_env.graders.loading.cells import canonical_ids, convert
from openmle_env.graders.loading.plain_numbers import DIGITS, NUMERIC, read_nothing_else, read_numbers
from openmle_env.graders.loading.source import Refused, Source
from openmle_env.graders.loading.table import TextReader, too_many_rows

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator, Mapping, Sequence
    from concurrent.futures import Future

    from openmle_env.graders.loading.batches import Plan, Sink
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

_ALL = bytes(range(256))
_SEPARATORS = _ALL.translate(None, b',\n\r"\0')


def read(source: Source, header: Sequence[str], plan: Plan, sink: Sink[Kept], *, max_rows: int | None) -> bool:
    """Read a file that stands at its start.

    Args:
        source: The file.
        header: The names that `TextReader` found in it.
        plan: Which columns are converted, and how.
        sink: What takes the batches.
        max_rows: The most rows.

    Returns:
        Whether the sink has all rows. If not, the file is not plain, and the sink is of no use.

    Raises:
        Refused: The file cannot be read, or has more rows, all plain.
    """
    blocks = _blocks(source)
    first = next(blocks, None)
    if first is None or not all(header):
        return False
    line, _, rest = first.partition(b"\n")
    if not _is_header(line, header):
        return False
    labels = {column: LabelReader(column) for column in plan.columns if column.kind == "label"}
    reader = _BlockReader(plan, tuple(header), labels)
    rows = 0
    with closing(_in_order(reader, sink, rest, blocks)) as results:  # no thread is left when this ends
        for done in results:
            if done is None:
                return False
            rows += done[0]
            if max_rows is not None and rows > max_rows:
                raise too_many_rows(max_rows)
            sink.add(done[1])
    return True


def _in_order(
    reader: _BlockReader, sink: Sink[Kept], first: bytes, blocks: Iterator[bytes]
) -> Generator[tuple[int, Kept] | None]:
    """Rows and result of each block; the first one alone, since it shows whether the rest is worth threads."""

    def work(block: bytes) -> tuple[int, Kept] | None:
        batch = reader.batch(block)
        return None if batch is None else (batch.rows, sink.keep(batch))

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
    labels: Mapping[Column, LabelReader]

    @property
    def numeric(self) -> tuple[Column, ...]:
        """The columns that are numbers, the id among them if it is one."""
        plan = self.plan
        wanted = plan.columns if plan.as_text else (plan.id, *plan.columns)
        return tuple(dict.fromkeys(column for column in wanted if column.kind in NUMERIC))

    @property
    def only_numbers(self) -> bool:
        """Whether every column of the file is read, and each as numbers only."""
        names = self.plan.names
        return len(self.numeric) == len({self.plan.id, *self.plan.columns}) and set(names) == set(self.header)

    @property
    def id_words(self) -> bool:
        """Whether ids are wanted as words: the bytes of the file, which they are where ids are texts."""
        return self.plan.id_bytes > 0 and self.plan.id.kind != "integer"

    def batch(self, block: bytes) -> Batch | None:
        """The rows of a block; None where it is not plain."""
        width = len(self.header)
        first = block[: block.index(b"\n")]
        dressed = b"\r" in first or b'"' in first
        quick = None if dressed else self._quick(block)
        if quick is not None:
            return quick
        if dressed or b"\r" in block or b'"' in block:
            plain = _undressed(block)
            if plain is None:
                return None
            block = plain
            quick = self._quick(block)
            if quick is not None:
                return quick
        rest = block.translate(None, DIGITS)
        shape = rest.translate(None, _SEPARATORS)
        if shape != (b"," * (width - 1) + b"\n") * (len(shape) // width):
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

    def _quick(self, block: bytes) -> Batch | None:
        """The rows of a block of nothing but numbers; None where it may be anything else."""
        if not self.only_numbers:
            return None
        places = {column: self.header.index(column.name) for column in self.numeric}
        arrays = read_nothing_else(block, len(self.header), places)
        if arrays is None:
            return None
        keys = arrays[self.plan.id]
        return Batch(rows=len(keys), keys=keys, values=[arrays[column] for column in self.plan.columns])

    def _cells(self, block: bytes, names: Sequence[str]) -> list[list[str]]:
        cells = block.decode().replace("\n", ",").split(",")
        del cells[-1]
        return [cells[self.header.index(name) :: len(self.header)] for name in names]

    def _arrays(self, block: bytes, rest: bytes, rows: int) -> Batch | None:
        """The rows without a look at each cell; None where one is needed. ``rest`` is the block without its digits."""
        plan = self.plan
        layout: BlockLayout | None = None
        if self.labels or self.id_words or all(column.kind == "integer" for column in self.numeric):
            layout = BlockLayout(block, len(self.header))
        places = {column: self.header.index(column.name) for column in self.numeric}
        arrays = read_numbers(block, rest, (rows, len(self.header)), places, layout)
        if arrays is None:
            return None
        for column, reader in self.labels.items():
            codes = layout.labels(self.header.index(column.name), reader) if layout is not None else None
            if codes is None:
                return None
            arrays[column] = codes
        texts = [column for column in plan.columns if column.kind == "text"]
        keys: Array | list[str] | None = arrays.get(plan.id)
        if self.id_words and layout is not None:
            keys = layout.ids(self.header.index(plan.id.name), plan.id_bytes)
        if keys is not None and not texts:
            return Batch(rows=rows, keys=keys, values=[arrays[column] for column in plan.columns])
        return self._with_texts(block, rows, arrays, keys, texts)

    def _with_texts(
        self,
        block: bytes,
        rows: int,
        arrays: dict[Column, Array],
        keys: Array | list[str] | None,
        texts: Sequence[Column],
    ) -> Batch | None:
        """The rows, of which some columns, and the ids if ``keys`` is None, have to become texts of their own."""
        cells = self._cells(block, [column.name for column in (*texts, self.plan.id)])
        if keys is None:
            keys, bad, huge = canonical_ids(cells[-1], self.plan.id, as_text=self.plan.as_text)
            if bad or huge:
                return None
        for column, found in zip(texts, cells[:-1], strict=True):
            arrays[column], faults = convert(found, column)
            if faults:
                return None
        return Batch(rows=rows, keys=keys, values=[arrays[column] for column in self.plan.columns])


def _undressed(block: bytes) -> bytes | None:
    """The block with bare line feeds and without quotes; None where that is not simple."""
    if b"\r" in block:
        if block.count(b"\r") != block.count(b"\r\n"):
            return None
        block = block.replace(b"\r\n", b"\n")
    if b'"' in block:
        # Each field has two quotes or none, and as many fields begin with one and end with one as have them.
        marks = block.translate(None, _SEPARATORS)
        quoted = marks.count(b'"') // 2
        if b'""""' in marks or b'"' in marks.replace(b'""', b""):
            return None
        between = block.count(b'","') + block.count(b'"\n"')
        if between != quoted - 1 or not block.startswith(b'"') or not block.endswith(b'"\n'):  # some are not quoted
            opening = block.count(b',"') + block.count(b'\n"') + block.startswith(b'"')
            closing = block.count(b'",') + block.count(b'"\n')
            if opening != quoted or closing != quoted:
                return None
        block = block.translate(None, b'"')
    return block
