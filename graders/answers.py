"""The hidden answers of a task: read by the loader that reads submissions, and divided into their parts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from openmle_env.errors import PackError
from openmle_env.graders.cells import check_schema, convert
from openmle_env.graders.rows import Rows, Value
from openmle_env.graders.split import divide
from openmle_env.graders.submission import expected_positions
from openmle_env.graders.table import MAX_TASK_BYTES, Refused, Table, read_bytes, read_table

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from openmle_env.graders.split import Split
    from openmle_env.types import Part, SubmissionSchema


@dataclass(frozen=True, slots=True)
class Answers:
    """The answers of each part."""

    rows: Rows
    """All answers, in the order of the file."""
    positions: Mapping[Part, Sequence[int]]
    """Where the rows of each part stand."""


def load(path: Path, schema: SubmissionSchema, split: Split, *, every_column: bool) -> Answers:
    """Read the answers.

    Args:
        path: A CSV file with the id and the answers.
        schema: The submission's schema; the id and the targets of the answers are read by the same rules.
        split: How the rows fall into parts.
        every_column: Keep every column, for a pack's own metric: labels and integers are read by the schema where the
            answers hold such a column; all other cells stay the text that stands in the file.

    Raises:
        PackError: The file cannot be read, or does not fit the schema or the split. The message holds no answer.
    """
    check_schema(schema)
    table = _read(path)
    if schema.id.name not in table.columns:
        raise PackError(f"Answers {path.name}: the id column {schema.id.name!r} is missing.")
    ids = tuple(expected_positions(table.columns[schema.id.name], schema.id))
    columns: dict[str, Sequence[Value]] = {}
    if every_column:
        columns.update({name: cells for name, cells in table.columns.items() if name != schema.id.name})
    for target in schema.targets:
        cells = table.columns.get(target.name)
        if every_column and (cells is None or target.kind not in {"label", "integer"}):
            continue
        if cells is None:
            raise PackError(f"Answers {path.name}: the target column {target.name!r} is missing.")
        values, faults = convert(cells, target)
        if faults:
            counts = ", ".join(f"{len(rows):,} {fault.value}" for fault, rows in faults.items())
            raise PackError(f"Answers {path.name}: column {target.name!r} is not {target.kind} throughout: {counts}.")
        columns[target.name] = values
    rows = Rows(schema, ids, columns)
    if split.column and split.column not in table.columns:
        raise PackError(
            f"Answers {path.name}: the column {split.column!r} that states the split is missing; there are "
            f"{', '.join(table.names)}. Name one of them as split.column in pack.yaml, or add it to the answers."
        )
    return Answers(rows, divide(ids, split, table.columns.get(split.column)))


def _read(path: Path) -> Table:
    try:
        # Links are followed here: the file is the task's, and caches keep theirs behind links.
        return read_table(read_bytes(path.resolve(), max_bytes=MAX_TASK_BYTES))
    except Refused as refused:
        reason = refused.problem.code.replace("_", " ")
        raise PackError(f"Answers {path} cannot be used: {reason}. {refused.problem.message}") from None
