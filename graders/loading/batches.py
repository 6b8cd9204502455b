"""Rows that were converted together, and what becomes of them: aligned with expected ids, or only collected."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol, TypeVar

import numpy as np

from openmle_env.graders.echo import MAX_EXAMPLES, MAX_SHOWN, show
from openmle_env.graders.loading.cells import CellFault, array_type, canonical_ids, convert
from openmle_env.graders.loading.id_index import NOT_FOUND, as_ids, key_text

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from openmle_env.graders.loading.id_index import IdIndex
    from openmle_env.graders.rows import Array
    from openmle_env.types import Column

MAX_HINTS = 10_000
"""Wrong ids of one sort that are kept, so that a message can say what they look like."""

MAX_LABEL_HINTS = 100
"""Wrong labels of one column, likewise; there may be thousands of columns."""

Kept = TypeVar("Kept")


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


class Sink(Protocol[Kept]):
    """What the batches of a file become."""

    def keep(self, batch: Batch) -> Kept:
        """What is remembered of a batch; called on several threads at once."""

    def add(self, kept: Kept, /) -> None:
        """Take what is remembered of the next batch, in the order of the file."""


@dataclass(slots=True)
class Wrong:
    """Ids of one sort that are wrong. However long and many they are, little is kept of them."""

    count: int = 0
    examples: list[str] = field(default_factory=list)
    """The first few, as a message shows them."""
    hints: list[str] = field(default_factory=list)
    """The short ones among the first `MAX_HINTS`, as they are."""

    @classmethod
    def of(cls, values: Sequence[str], count: int) -> Wrong:
        """Of ``count`` ids, of which at least the first `MAX_HINTS` are given."""
        examples = [show(value) for value in values[:MAX_EXAMPLES]]
        return cls(count, examples, [value for value in values[:MAX_HINTS] if len(value) <= MAX_SHOWN])

    def add(self, other: Wrong) -> None:
        """Add those that follow."""
        self.count += other.count
        self.examples += other.examples[: MAX_EXAMPLES - len(self.examples)]
        self.hints += other.hints[: MAX_HINTS - len(self.hints)]


@dataclass(slots=True)
class WrongCells:
    """The cells of one column with the same fault."""

    count: int = 0
    examples: list[tuple[str, str]] = field(default_factory=list)
    """Id and cell of the first few, as a message shows them."""
    labels: list[str] = field(default_factory=list)
    """Where they should be labels, a few different short ones, as they are."""

    def add(self, other: WrongCells) -> None:
        """Add those that follow."""
        self.count += other.count
        self.examples += other.examples[: MAX_EXAMPLES - len(self.examples)]
        self.labels += other.labels[: MAX_LABEL_HINTS - len(self.labels)]


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
        found.malformed_ids = Wrong.of([batch.id_cells[row] for row in malformed[:MAX_HINTS]], len(malformed))
        for cells, faults in zip(batch.cells, batch.faults, strict=False):
            found.columns.append({})
            for fault, rows in faults.items():
                examples = [(show(batch.id_cells[row].strip()), show(cells[row])) for row in rows[:MAX_EXAMPLES]]
                labels: list[str] = []
                if fault is CellFault.UNKNOWN_LABEL:
                    labels = [cell for cell in dict.fromkeys(cells[row] for row in rows) if len(cell) <= MAX_SHOWN]
                found.columns[-1][fault] = WrongCells(len(rows), examples, labels[:MAX_LABEL_HINTS])
        return found

    def add(self, other: Findings) -> None:
        """Add what is wrong with the rows that follow."""
        self.rows += other.rows
        self.blank_ids += other.blank_ids
        self.malformed_ids.add(other.malformed_ids)
        if other.columns and not self.columns:
            self.columns = [{} for _ in other.columns]
        for mine, theirs in zip(self.columns, other.columns, strict=False):
            for fault, wrong in theirs.items():
                mine.setdefault(fault, WrongCells()).add(wrong)


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
        self.places: list[Array] = []
        self.unknown = Wrong()
        self.findings = Findings()

    def keep(self, batch: Batch) -> Placed:
        """Put the values of a batch. Of two rows with the same id, either may win: they are refused later."""
        places = self._index.find(batch.keys)
        for row in (*batch.bad_ids, *batch.huge_ids):
            places[row] = NOT_FOUND
        strange = np.flatnonzero(places < 0)
        if not len(strange):
            _scatter(self.values, places, batch.values)
            return Placed(places, Wrong(), Findings.of(batch))
        rows = [row for row in strange.tolist() if row not in batch.bad_ids]
        keys = [batch.huge_ids.get(row) or key_text(batch.keys, row) for row in rows[:MAX_HINTS]]
        return Placed(places, Wrong.of(keys, len(rows)), Findings.of(batch))

    def add(self, placed: Placed) -> None:
        """Remember where the rows of the next batch stand, and what is wrong with them."""
        self.places.append(placed.places)
        self.unknown.add(placed.unknown)
        self.findings.add(placed.findings)

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


class Collection:
    """Keeps rows as they are."""

    def __init__(self) -> None:
        """Nothing yet."""
        self.ids: list[Array] = []
        self.values: list[list[Array]] = []
        self.huge_ids = False
        self.findings = Findings()

    def keep(self, batch: Batch) -> Collected:
        """The rows of a batch."""
        return Collected(as_ids(batch.keys), batch.values, bool(batch.huge_ids), Findings.of(batch))

    def add(self, collected: Collected) -> None:
        """Append them."""
        self.ids.append(collected.ids)
        self.values.append(collected.values)
        self.huge_ids = self.huge_ids or collected.huge_ids
        self.findings.add(collected.findings)
