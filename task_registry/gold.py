"""The submission that is right in every row: it shows that a metric tells the answers from anything else."""

from __future__ import annotations

import csv
import io
from typing import TYPE_CHECKING

from openmle_env.errors import PackError
from openmle_env.graders.answers import Condition
from openmle_env.graders.loading.cells import canonical_id, convert
from openmle_env.graders.loading.source import MAX_TASK_BYTES, Refused, read_bytes
from openmle_env.graders.loading.table import Table, read_table
from openmle_env.graders.metric_columns import answered_targets, class_column
from openmle_env.task_registry.folder import GOLD
from openmle_env.types import Column

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from openmle_env.graders.metrics import Metric as OurMetric
    from openmle_env.task_registry.pack import Metric
    from openmle_env.types import SubmissionSchema


def gold_submission(metric: Metric, schema: SubmissionSchema, answers: Path, sample: Path) -> bytes:
    """The answers in the form of a submission: the pack's own file of that, if there is one, else made of the answers.

    A target is the answers' column of its name, as 0 and 1 where the metric reads it so, or, where a parameter names
    the column that holds the class, 1 for that class and 0 for the others. What the answers do not say (a target that
    they lack by the metric's definition, a row that is not scored) is as in the sample submission.

    Raises:
        PackError: The answers or the sample cannot be read, or lack a column.
    """
    own = answers.with_name(GOLD.rpartition("/")[2])
    if own.exists():
        return _bytes(own)
    ours = metric.ours()
    table = _table(answers)
    known = _known(ours, schema, table, answers.name)
    condition = Condition.parse(metric.rows)
    _need([condition.column] if condition.column else [], table, answers.name)
    scored = condition.holds(table.columns[condition.column]).tolist() if condition.column else [True] * table.rows
    columns = [table.columns[schema.id.name]]
    rest = None
    for target in schema.targets:
        if target.name in known and all(scored):
            columns.append(known[target.name])
            continue
        rest = rest or _Sample(_table(sample), schema, sample.name)
        given = rest.cells(target.name, columns[0])
        right = known.get(target.name, given)
        columns.append([cell if counts else other for cell, other, counts in zip(right, given, scored, strict=True)])
    text = io.StringIO(newline="")
    # Everything is quoted, so that a lone carriage return inside a text cannot end its row.
    writer = csv.writer(text, quoting=csv.QUOTE_ALL, lineterminator="\n")
    writer.writerow(schema.columns)
    writer.writerows(zip(*columns, strict=True))
    return text.getvalue().encode("utf-8", "surrogatepass")


def _known(metric: OurMetric | None, schema: SubmissionSchema, table: Table, file: str) -> dict[str, list[str]]:
    """The right cells of the targets that the answers say."""
    names = [target.name for target in schema.targets]
    truth = class_column(metric) if metric else ""
    if truth:
        _need([schema.id.name, truth], table, file)
        codes, _ = convert(table.columns[truth], Column(name=truth, kind="label", labels=tuple(names)))
        return {name: ["1" if code == own else "0" for code in codes] for own, name in enumerate(names)}
    answered = answered_targets(metric, names) if metric else names
    _need([schema.id.name, *answered], table, file)
    known = {name: table.columns[name] for name in answered}
    if metric is None or metric.truth != "binary":
        return known
    yes_or_no = {
        name: convert(cells, Column(name=name, kind="label", labels=("0", "1")))[0] for name, cells in known.items()
    }
    return {name: list(map(str, codes.tolist())) for name, codes in yes_or_no.items()}


class _Sample:
    """The cells of the sample submission, found by id."""

    def __init__(self, table: Table, schema: SubmissionSchema, file: str) -> None:
        _need(schema.columns, table, file)
        self._id = schema.id
        self._columns = table.columns
        self._row = {canonical_id(cell, schema.id): row for row, cell in enumerate(table.columns[schema.id.name])}

    def cells(self, name: str, ids: Sequence[str]) -> list[str]:
        column = self._columns[name]
        rows = (self._row.get(canonical_id(cell, self._id)) for cell in ids)
        return ["" if row is None else column[row] for row in rows]


def _need(names: Sequence[str], table: Table, file: str) -> None:
    for name in names:
        if name not in table.columns:
            raise PackError(f"{file} lacks the column {name!r}; it has {', '.join(table.names)}.")


def _bytes(path: Path) -> bytes:
    try:
        return read_bytes(path, max_bytes=MAX_TASK_BYTES)
    except Refused as error:
        raise PackError(f"{path.name} cannot be read: {error}") from error


def _table(path: Path) -> Table:
    try:
        return read_table(_bytes(path))
    except Refused as error:
        raise PackError(f"{path.name} cannot be read: {error}") from error
