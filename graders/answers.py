"""The hidden answers of a task: read by the loader that reads submissions, and divided into their parts."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from openmle_env.errors import PackError, UsageError
from openmle_env.graders.cells import check_schema, convert
from openmle_env.graders.rows import Array, Rows
from openmle_env.graders.split import divide
from openmle_env.graders.submission import expected_positions, id_array
from openmle_env.graders.table import MAX_TASK_BYTES, Refused, Table, read_bytes, read_table
from openmle_env.types import Column

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from pathlib import Path

    from openmle_env.graders.split import Split
    from openmle_env.types import Part, SubmissionSchema

_CONDITION = re.compile(r"\s*(?P<column>[^=!]+?)\s*(?P<sign>!?=)\s*(?P<value>.*?)\s*")


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
    positions: Mapping[Part, Sequence[int] | Array]
    """Where the rows of each part stand that are scored."""


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
    table = _read(path)
    _need(table, path, schema.id.name, "the id column")
    ids = tuple(expected_positions(table.columns[schema.id.name], schema.id))
    scored = np.ones(len(ids), dtype=bool)
    if scored_rows is not None and scored_rows.column:
        _need(table, path, scored_rows.column, "the column that says which rows are scored,")
        scored = scored_rows.holds(table.columns[scored_rows.column])
    if columns is None:
        columns = _every_column(table, schema)
    values = {}
    for column in columns:
        _need(table, path, column.name, "the column")
        values[column.name], faults = convert(table.columns[column.name], column)
        counts = {fault: int(scored[rows].sum()) for fault, rows in faults.items()}
        if any(counts.values()):
            found = ", ".join(f"{count:,} {fault.value}" for fault, count in counts.items() if count)
            allowed = f" (one of {', '.join(column.labels[:20])})" if column.kind == "label" else ""
            raise PackError(
                f"Answers {path.name}: column {column.name!r} is not {column.kind}{allowed} throughout: {found}."
            )
    if split.column:
        _need(table, path, split.column, "the column that states the split,")
    parts = divide(ids, split, table.columns.get(split.column))
    positions = {part: rows if scored.all() else np.asarray(rows)[scored[rows]] for part, rows in parts.items()}
    for part, rows in positions.items():
        if not len(rows):
            raise PackError(f"Answers {path.name}: no row of the {part} part is scored. Correct the condition.")
    described = {column.name: column for column in columns}
    return Answers(Rows(schema.id, id_array(ids, schema.id), described, values), positions)


def _every_column(table: Table, schema: SubmissionSchema) -> list[Column]:
    by_schema = {target.name: target for target in schema.targets if target.kind in {"label", "integer"}}
    names = [name for name in table.names if name != schema.id.name]
    return [by_schema.get(name) or Column(name=name, kind="text", blank=True) for name in names]


def _need(table: Table, path: Path, name: str, what: str) -> None:
    if name not in table.columns:
        raise PackError(f"Answers {path.name}: {what} {name!r} is missing; there are {', '.join(table.names)}.")


def _read(path: Path) -> Table:
    try:
        # Links are followed here: the file is the task's, and caches keep theirs behind links.
        return read_table(read_bytes(path.resolve(), max_bytes=MAX_TASK_BYTES))
    except Refused as refused:
        reason = refused.problem.code.replace("_", " ")
        raise PackError(f"Answers {path} cannot be used: {reason}. {refused.problem.message}") from None
