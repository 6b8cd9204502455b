"""Rows that were converted together, and what becomes of them: aligned with expected ids, or only collected."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from openmle_env.graders.echo import MAX_EXAMPLES
from openmle_env.graders.loading.cells import CellFault, array_type, canonical_ids, convert
from openmle_env.graders.loading.id_index import NOT_FOUND, as_ids, key_text

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from openmle_env.graders.loading.id_index import IdIndex
    from openmle_env.graders.rows import Array
    from openmle_env.types import Column

MAX_HINTS = 10_000
"""Wrong values of one sort that are kept, so that a message can say what they look like."""


@dataclass(frozen=True, slots=True)
class Plan:
    """How the cells of a file are converted."""

    id: Column
    columns: tuple[Column, ...]
    """In the order in which batches hold them; names may repeat."""
    as_text: bool
    """Whether ids are compared as text, though they be integers."""
    id_bytes: int = 0
    """If not 0, ids of plain rows may be given as words: texts padded to so many bytes."""

    @property
    def names(self) -> tuple[str, ...]:
        """The names of all columns that are read, the id's first."""
        return (self.id.name, *(column.name for column in self.columns))


@dataclass(frozen=True, slots=True)
class Batch:
    """Some rows of a file, in its order."""

    rows: int
    keys: Array | list[str]
    """Canonical ids: int64, or, where ids are compared as text, texts or words as `IdIndex.find` takes them."""
    values: list[Array]
    """Of each column of the plan."""
    bad_ids: Mapping[int, CellFault] = field(default_factory=dict)
    """The rows whose id is none; their key means nothing."""
    huge_ids: Mapping[int, str] = field(default_factory=dict)
    """The rows whose id is an integer too large for the array of keys; their key means nothing."""
    faults: Sequence[dict[CellFault, list[int]]] = ()
    """For each column of the plan, the rows whose cell cannot be converted; empty if all can, in all columns."""
    id_cells: Sequence[str] = ()
    """The cells of ids as they stand in the file, where anything above is not empty."""
    cells: Sequence[Sequence[str]] = ()
    """The cells of each column of the plan, likewise."""


def from_cells(plan: Plan, cells: Sequence[Sequence[str]]) -> Batch:
    """Convert cells of text; ``cells`` are those of the id and of each column of the plan."""
    keys, bad, huge = canonical_ids(cells[0], plan.id, as_text=plan.as_text)
    converted = [convert(found, column) for found, column in zip(cells[1:], plan.columns, strict=True)]
    faults = [found for _, found in converted]
    return Batch(
        rows=len(cells[0]),
        keys=keys,
        values=[values for values, _ in converted],
        bad_ids=bad,
        huge_ids=huge,
        faults=faults if any(faults) else (),
        id_cells=cells[0],
        cells=cells[1:],
    )


@dataclass(slots=True)
class Wrong:
    """Values of one sort that are wrong: how many, and the first of them."""

    count: int = 0
    first: list[str] = field(default_factory=list)

    def add(self, values: Sequence[str], count: int) -> None:
        """Add ``count`` values, of which at least the first `MAX_HINTS` are given."""
        self.count += count
        self.first += values[: MAX_HINTS - len(self.first)]


@dataclass(slots=True)
class WrongCells:
    """The cells of one column with the same fault."""

    cells: Wrong = field(default_factory=Wrong)
    """Different ones, as far as they were kept; the count is of all."""
    examples: list[tuple[str, str]] = field(default_factory=list)
    """Id and cell of the first few."""


@dataclass(slots=True)
class Findings:
    """What is wrong with some rows. Batches are added up in the order of the file."""

    rows: int = 0
    blank_ids: int = 0
    malformed_ids: Wrong = field(default_factory=Wrong)
    columns: list[dict[CellFault, WrongCells]] = field(default_factory=list)
    """For each column of the plan that has any, and empty if none has."""

    @classmethod
    def of(cls, batch: Batch) -> Findings:
        """Those of one batch."""
        found = cls(rows=batch.rows)
        malformed = [row for row, fault in batch.bad_ids.items() if fault is not CellFault.BLANK]
        found.blank_ids = len(batch.bad_ids) - len(malformed)
        found.malformed_ids.add([batch.id_cells[row] for row in malformed[:MAX_HINTS]], len(malformed))
        for cells, faults in zip(batch.cells, batch.faults, strict=False):
            wrong = {}
            for fault, rows in faults.items():
                wrong[fault] = WrongCells(examples=[(batch.id_cells[row], cells[row]) for row in rows[:MAX_EXAMPLES]])
                wrong[fault].cells.add(list(dict.fromkeys(cells[row] for row in rows[:MAX_HINTS])), len(rows))
            found.columns.append(wrong)
        return found

    def add(self, other: Findings) -> None:
        """Add what is wrong with the rows that follow."""
        self.rows += other.rows
        self.blank_ids += other.blank_ids
        self.malformed_ids.add(other.malformed_ids.first, other.malformed_ids.count)
        if other.columns and not self.columns:
            self.columns = [{} for _ in other.columns]
        for mine, theirs in zip(self.columns, other.columns, strict=False):
            for fault, wrong in theirs.items():
                known = mine.setdefault(fault, WrongCells())
                known.cells.add(wrong.cells.first, wrong.cells.count)
                known.examples += wrong.examples[: MAX_EXAMPLES - len(known.examples)]


@dataclass(frozen=True, slots=True)
class Placed:
    """What is remembered of a batch that was aligned."""

    places: Array
    """Where the id of each row stands among the expected ones; `NOT_FOUND` where it does not. int32."""
    unknown: Wrong
    """Well-formed ids that are not expected."""
    findings: Findings


class Alignment:
    """Puts values where their id is expected."""

    def __init__(self, index: IdIndex, columns: Sequence[Column]) -> None:
        """Room for the values of ``columns`` of every expected id."""
        self._index = index
        self.values: list[Array] = [_unfilled(len(index), column) for column in columns]

    def __call__(self, batch: Batch) -> Placed:
        """Put the values of a batch. Of two rows with the same id, either may win: they are refused later."""
        places = self._index.find(batch.keys)
        for row in (*batch.bad_ids, *batch.huge_ids):
            places[row] = NOT_FOUND
        strange = np.flatnonzero(places < 0)
        if not len(strange):
            _scatter(self.values, places, batch.values)
            return Placed(places, Wrong(), Findings.of(batch))
        rows = [row for row in strange.tolist() if row not in batch.bad_ids]
        unknown = Wrong()
        unknown.add([batch.huge_ids.get(row) or key_text(batch.keys, row) for row in rows[:MAX_HINTS]], len(rows))
        return Placed(places, unknown, Findings.of(batch))

    def is_full(self) -> bool:
        """Whether every expected id surely has its values; where that cannot be told from them, False."""
        for values in self.values:
            if values.dtype == np.float64:
                return not np.isnan(values).any()
            if values.dtype == np.int32:
                return bool((values >= 0).all())
        return False


def _unfilled(count: int, column: Column) -> Array:
    """Room for the values of a column; where there is a value that none of its cells has, that one stands there."""
    kind = array_type(column)
    return np.full(count, np.nan if kind is np.float64 else -1 if kind is np.int32 else 0, kind)


def _scatter(targets: Sequence[Array], places: Array, values: Sequence[Array]) -> None:
    first = int(places[0])
    if int(places[-1]) - first == len(places) - 1 and np.array_equal(
        places, np.arange(first, first + len(places), dtype=np.int32)
    ):
        for target, array in zip(targets, values, strict=True):
            target[first : first + len(places)] = array
        return
    positions = places.astype(np.intp)
    for target, array in zip(targets, values, strict=True):
        target[positions] = array


@dataclass(frozen=True, slots=True)
class Collected:
    """What is remembered of a batch for which no ids are expected."""

    ids: Array
    values: list[Array]
    huge_ids: bool
    findings: Findings


def collect(batch: Batch) -> Collected:
    """Keep a batch as it is."""
    return Collected(as_ids(batch.keys), batch.values, bool(batch.huge_ids), Findings.of(batch))
