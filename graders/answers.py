"""The hidden answers of a task: read by the loader that reads submissions, and divided into their parts."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from openmle_env.errors import PackError, UsageError
from openmle_env.graders.loading.batches import Batch, Plan
from openmle_env.graders.loading.cells import check_schema
from openmle_env.graders.loading.id_index import IdIndex, as_ids, wrong_id
from openmle_env.graders.loading.reading import read_columns
from openmle_env.graders.loading.source import MAX_TASK_BYTES, Refused, Source, open_source
from openmle_env.graders.loading.table import TextReader
from openmle_env.graders.rows import Array, Rows
from openmle_env.graders.split import divide
from openmle_env.types import Column

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from pathlib import Path

    from openmle_env.graders.loading.cells import CellFault
    from openmle_env.graders.split import Split
    from openmle_env.types import Part, SubmissionSchema

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
            read = _read(source, reader, schema, wanted=wanted, condition=condition, split=split)
    except Refused as refused:
        reason = refused.problem.code.replace("_", " ")
        raise PackError(f"Answers {path} cannot be used: {reason}. {refused.problem.message}") from None
    if not read:
        raise PackError(f"The task has no ids in column {schema.id.name!r}.")
    for batch in read:
        if batch.wrong_id:
            raise PackError(batch.wrong_id)
    for i, column in enumerate(wanted):
        _refuse_faults(path, column, [batch.faults[i] for batch in read])
    index = IdIndex(np.concatenate([batch.ids for batch in read]), schema.id)
    scored = np.concatenate([batch.scored for batch in read])
    words = np.concatenate([batch.words for batch in read]) if split.column else None
    parts = divide(index.ids, split, words)
    positions = {part: rows if scored.all() else rows[scored[rows]] for part, rows in parts.items()}
    for part, rows in positions.items():
        if not len(rows):
            raise PackError(f"Answers {path.name}: no row of the {part} part is scored. Correct the condition.")
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


def _read(
    source: Source,
    reader: TextReader,
    schema: SubmissionSchema,
    *,
    wanted: Sequence[Column],
    condition: Condition,
    split: Split,
) -> list[_Batch]:
    side = [Column(name=name, kind="text", blank=True) for name in (condition.column, split.column) if name]

    def keep(batch: Batch) -> _Batch:
        rest = batch.values[len(wanted) :]
        scored = condition.holds(rest[0]) if condition.column else np.ones(batch.rows, bool)
        wrong = ""
        if batch.bad_ids:
            row = min(batch.bad_ids)
            wrong = wrong_id(batch.id_cells[row], schema.id, batch.bad_ids[row].value)
        return _Batch(
            ids=as_ids(batch.keys),
            huge_ids=bool(batch.huge_ids),
            wrong_id=wrong,
            values=batch.values[: len(wanted)],
            faults=[
                {fault: int(scored[rows].sum()) for fault, rows in faults.items()}
                for faults in batch.faults[: len(wanted)] or [{} for _ in wanted]
            ],
            scored=scored,
            words=rest[-1] if split.column else np.empty(0, np.object_),
        )

    read = read_columns(source, reader, Plan(schema.id, (*wanted, *side), as_text=False), keep).kept
    if not any(batch.huge_ids for batch in read):
        return read
    source.rewind()
    plan = Plan(schema.id, (*wanted, *side), as_text=True)  # some are too large for an array of integers
    return read_columns(source, TextReader(source), plan, keep).kept


def _refuse_faults(path: Path, column: Column, found: Iterable[Mapping[CellFault, int]]) -> None:
    counts: dict[CellFault, int] = {}
    for faults in found:
        for fault, count in faults.items():
            counts[fault] = counts.get(fault, 0) + count
    if any(counts.values()):
        words = ", ".join(f"{count:,} {fault.value}" for fault, count in counts.items() if count)
        allowed = f" (one of {', '.join(column.labels[:20])})" if column.kind == "label" else ""
        raise PackError(
            f"Answers {path.name}: column {column.name!r} is not {column.kind}{allowed} throughout: {words}."
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
            raise PackError(f"Answers {path.name}: {what} is missing; there are {', '.join(names)}.")
