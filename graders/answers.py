"""The hidden answers of a task: read by the loader that reads submissions, and divided into their parts."""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np

from openmle_env.errors import PackError, UsageError
from openmle_env.graders.echo import show_some
from openmle_env.graders.loading.batches import Batch, Plan
from openmle_env.graders.loading.cells import CellFault, check_schema
from openmle_env.graders.loading.id_index import IdIndex, as_ids, wrong_id
from openmle_env.graders.loading.reading import read_again, read_columns
from openmle_env.graders.loading.source import MAX_TASK_BYTES, Refused, Source, open_source
from openmle_env.graders.loading.table import TextReader
from openmle_env.graders.rows import Array, Rows
from openmle_env.graders.split import divide
from openmle_env.types import Column, Part

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from pathlib import Path

    from openmle_env.graders.split import Split
    from openmle_env.types import SubmissionSchema

_CONDITION = re.compile(r"\s*(?P<column>[^=!]+?)\s*(?P<sign>!?=)\s*(?P<value>(?!=).*?)\s*")


@dataclass(frozen=True, slots=True)
class Condition:
    """Which rows of the answers are scored: those whose cell in a column is, or is not, a text.

    All rows have to be predicted all the same. Without a column, every row is scored.
    """

    column: str = ""
    value: str = ""
    equal: bool = True

    @classmethod
    def parse(cls, text: str) -> Condition:
        """From ``COLUMN = VALUE`` or ``COLUMN != VALUE``; empty text is no condition.

        Raises:
            UsageError: It is neither.

        >>> Condition.parse("u_out = 0")
        Condition(column='u_out', value='0', equal=True)
        """
        if not text.strip():
            return cls()
        match = _CONDITION.fullmatch(text)
        if match is None:
            raise UsageError(f"The condition {text!r} should be COLUMN = VALUE or COLUMN != VALUE.")
        return cls(match["column"], match["value"], match["sign"] == "=")

    def holds(self, cells: Iterable[str]) -> Array:
        """For each cell of the column whether its row is scored; shape (rows,), bool."""
        return np.array([(cell.strip() == self.value) is self.equal for cell in cells], dtype=bool)


@dataclass(frozen=True, slots=True)
class Answers:
    """The answers of each part."""

    rows: Rows
    """All answers, in the order of the file."""
    positions: Mapping[Part, Array]
    """Where the rows of each part stand that are scored."""
    index: IdIndex
    """Where each id stands: made once, for all submissions."""


def load(
    path: Path,
    schema: SubmissionSchema,
    split: Split,
    columns: Sequence[Column] | None,
    *,
    scored_rows: Condition | None = None,
) -> Answers:
    """Read the answers.

    Args:
        path: A CSV file with the id and the answers.
        schema: The submission's schema; the id of the answers is read by the same rules.
        split: How the rows fall into parts.
        columns: The columns that the metric needs, and how they are read. None, for a pack's own metric: every column,
            with labels and integers read by the schema where the answers hold such a column; all other cells stay the
            text that stands in the file.
        scored_rows: Which rows are scored; all, if None.

    Raises:
        PackError: The file cannot be read, or does not fit the schema or the split. The message holds no answer.
    """
    check_schema(schema)
    condition = scored_rows or Condition()
    try:
        # Links are followed here: the file is the task's, and caches keep theirs behind links.
        with open_source(path.resolve(), max_bytes=MAX_TASK_BYTES) as source:
            reader = TextReader(source)
            wanted = _every_column(reader.names, schema) if columns is None else tuple(columns)
            _need_all(reader.names, path, schema, wanted=wanted, condition=condition, split=split)
            read = _read(source, reader, _Reader(schema.id, wanted, condition, split))
    except Refused as refused:
        reason = refused.problem.code.replace("_", " ")
        told = _UNREADABLE.get(refused.problem.code, refused.problem.message)
        raise PackError(f"Answers {path} cannot be used: {reason}. {told}") from None
    if not read:
        raise PackError(f"The task has no ids in column {schema.id.name!r}.")
    for batch in read:
        if batch.wrong_id:
            raise PackError(batch.wrong_id)
    for i, column in enumerate(wanted):
        _refuse_faults(path, column, [batch.faults[i] for batch in read])
    try:
        index = IdIndex(np.concatenate([batch.ids for batch in read]), schema.id)
    except PackError as error:
        raise PackError(f"Answers {path.name}: {error}") from None
    scored = np.concatenate([batch.scored for batch in read])
    words = np.concatenate([batch.words for batch in read]) if split.column else None
    parts = divide(index.ids, split, words)
    positions = {part: rows if scored.all() else rows[scored[rows]] for part, rows in parts.items()}
    for part, rows in positions.items():
        if not len(rows):
            of_part = f" of the {part} part" if scored.any() else ""
            sign = "=" if condition.equal else "!="
            raise PackError(
                f"Answers {path.name}: no row{of_part} meets the condition {condition.column} {sign} "
                f"{condition.value}, so that none is scored. Correct the condition; cells are compared with it as text."
            )
    values = {column.name: np.concatenate([batch.values[i] for batch in read]) for i, column in enumerate(wanted)}
    described = {column.name: column for column in wanted}
    return Answers(Rows(schema.id, index.ids, described, values), positions, index)


@dataclass(frozen=True, slots=True)
class _Batch:
    """What is kept of a few rows of the answers."""

    ids: Array
    huge_ids: bool
    wrong_id: str
    """What is wrong with the first id that is none."""
    values: list[Array]
    faults: list[dict[CellFault, int]]
    """For each column, how many cells of scored rows have each fault."""
    scored: Array
    words: Array
    """The cells that state the split."""


@dataclass(slots=True)
class _Reader:
    """Gathers the rows of the answers."""

    id: Column
    wanted: Sequence[Column]
    condition: Condition
    split: Split
    batches: list[_Batch] = field(default_factory=list)

    @property
    def plan(self) -> Plan:
        """What is read: the columns that are wanted, then that of the condition and that of the split."""
        names = [name for name in (self.condition.column, self.split.column) if name]
        side = [Column(name=name, kind="text", blank=True) for name in names]
        return Plan(self.id, (*self.wanted, *side), as_text=False)

    def keep(self, batch: Batch) -> _Batch:
        """What is kept of a batch."""
        side = batch.values[len(self.wanted) :]
        scored = self.condition.holds(side[0]) if self.condition.column else np.ones(batch.rows, bool)
        wrong = ""
        if batch.bad_ids:
            row = min(batch.bad_ids)
            wrong = wrong_id(batch.id_cells[row], self.id, batch.bad_ids[row].value.replace("_", " "))
        return _Batch(
            ids=as_ids(batch.keys),
            huge_ids=bool(batch.huge_ids),
            wrong_id=wrong,
            values=batch.values[: len(self.wanted)],
            faults=[
                {fault: int(scored[rows].sum()) for fault, rows in faults.items()}
                for faults in batch.faults[: len(self.wanted)] or [{} for _ in self.wanted]
            ],
            scored=scored,
            words=side[-1] if self.split.column else np.empty(0, np.object_),
        )

    def add(self, kept: _Batch) -> None:
        """Append it."""
        self.batches.append(kept)


def _read(source: Source, reader: TextReader, empty: _Reader) -> list[_Batch]:
    def start() -> _Reader:
        return replace(empty, batches=[])

    read, _ = read_columns(source, reader, empty.plan, start)
    if any(batch.huge_ids for batch in read.batches):  # which are too large for an array of integers
        read, _ = read_columns(source, read_again(source, reader), replace(empty.plan, as_text=True), start)
    return read.batches


_UNREADABLE = {
    "no_file": "Put the answers there, or correct the path in the pack.",
    "not_a_file": "Put a plain CSV file there.",
    "too_large": f"At most {MAX_TASK_BYTES:,} bytes are read.",
}
"""What is said in place of a message that speaks of submissions."""

_FAULTS = {
    CellFault.BLANK: "are blank: fill them in, leave their rows unscored, or, in a text column, allow blank cells",
    CellFault.NOT_FINITE: "are NaN, infinite or too large: write finite numbers, or leave their rows unscored",
    CellFault.NOT_A_NUMBER: "are no decimal numbers: write numbers, or declare the column as label or text",
    CellFault.NOT_AN_INTEGER: "are no whole numbers: write integers, or declare the column as number",
    CellFault.TOO_LARGE_INTEGER: "are integers of more than 64 bits: declare the column as number, label or text",
    CellFault.OUT_OF_RANGE: "lie outside [0, 1]: write probabilities, or declare the column as number",
    CellFault.UNKNOWN_LABEL: "are none of its labels: correct them, or list every label",
}
"""What authors of a pack can do; no answer is repeated."""


def _refuse_faults(path: Path, column: Column, found: Iterable[Mapping[CellFault, int]]) -> None:
    counts: dict[CellFault, int] = {}
    for faults in found:
        for fault, count in faults.items():
            counts[fault] = counts.get(fault, 0) + count
    if any(counts.values()):
        words = "; ".join(f"{count:,} {_FAULTS[fault]}" for fault, count in counts.items() if count)
        labels = f" (its labels: {show_some(column.labels, len(column.labels))})" if column.kind == "label" else ""
        raise PackError(
            f"Answers {path.name}: not every scored cell of column {column.name!r}, which is read as "
            f"{column.kind}{labels}, is one. Of those cells {words}."
        )


def _every_column(names: Sequence[str], schema: SubmissionSchema) -> tuple[Column, ...]:
    by_schema = {target.name: target for target in schema.targets if target.kind in {"label", "integer"}}
    return tuple(
        by_schema.get(name) or Column(name=name, kind="text", blank=True) for name in names if name != schema.id.name
    )


def _need_all(
    names: Sequence[str],
    path: Path,
    schema: SubmissionSchema,
    *,
    wanted: Sequence[Column],
    condition: Condition,
    split: Split,
) -> None:
    needed = {schema.id.name: f"the id column {schema.id.name!r}"}
    if condition.column:
        needed.setdefault(condition.column, f"the column {condition.column!r} that says which rows are scored")
    if split.column:
        needed.setdefault(split.column, f"the column {split.column!r} that states the split")
    for column in wanted:
        needed.setdefault(column.name, f"the column {column.name!r}")
    for name, what in needed.items():
        if name not in names:
            raise PackError(f"Answers {path.name}: {what} is missing; there are {show_some(names, len(names))}.")
