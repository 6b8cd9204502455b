"""Checking a submission: the same code for the validator, the grader, the agents' tools and the task packs.

A report is made from the submission and the public specification only, and no valid prediction changes what it says.
"""

from __future__ import annotations

import unicodedata
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from openmle_env.errors import PackError
from openmle_env.graders.cells import CellFault, canonical_id, check_schema, convert
from openmle_env.graders.echo import MAX_EXAMPLES, show, show_some
from openmle_env.graders.rows import Array, Rows
from openmle_env.graders.table import Refused, read_bytes, read_names, read_table
from openmle_env.types import Problem

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

    from openmle_env.types import Artifact, Column, SubmissionSchema

MAX_PROBLEMS = 20
"""Problems that one report lists."""

_ADVICE = {
    CellFault.BLANK: "blank. Write one value for each row",
    CellFault.NOT_FINITE: "not finite (NaN, infinite or too large). Write a finite number for each row",
    CellFault.NOT_A_NUMBER: "not decimal numbers. Write numbers such as 0.25 or 1e-3, with a point and nothing else",
    CellFault.NOT_AN_INTEGER: "not whole numbers. Write integers such as 3",
    CellFault.TOO_LARGE_INTEGER: "integers of more than 64 bits. Write smaller ones",
    CellFault.OUT_OF_RANGE: "outside [0, 1]. Write probabilities",
    CellFault.UNKNOWN_LABEL: "not a label of the task",
}


@dataclass(frozen=True, slots=True)
class Report:
    """What the form of a submission is like; says nothing of how good it is."""

    problems: tuple[Problem, ...]
    warnings: tuple[str, ...]
    predictions: Rows | None
    """The target columns in the order of the expected ids, where the submission is valid."""

    @property
    def valid(self) -> bool:
        """Whether there are no problems."""
        return not self.problems

    @property
    def message(self) -> str:
        """All problems in one text for people, one a line."""
        return "\n".join(problem.message for problem in self.problems)


def check(
    source: Artifact | Path | bytes,
    schema: SubmissionSchema,
    expected_ids: Iterable[str],
) -> Report:
    """Read a submission and check it against the schema and the ids that the task asks for.

    Never raises for what a submission holds.

    Raises:
        PackError: The schema or the expected ids are themselves wrong.
    """
    check_schema(schema)
    expected = expected_positions(expected_ids, schema.id)
    try:
        content = read_bytes(source)
        names = read_names(content)
        warnings = _extra_columns(names, schema)
        problems = _wrong_columns(names, schema)
        if problems:  # before the rows are read: they cannot help any more
            return Report(problems=tuple(problems), warnings=warnings, predictions=None)
        table = read_table(content, wanted=schema.columns, max_rows=2 * len(expected) + 1_000)
    except Refused as refused:
        return Report(problems=(refused.problem,), warnings=(), predictions=None)
    warnings = (*table.warnings, *warnings)
    if not table.rows:
        message = f"The file has a header and no rows. Write one row for each of the {len(expected):,} ids."
        problem = Problem(code="header_only", message=message)
        return Report(problems=(problem,), warnings=warnings, predictions=None)
    id_cells = table.columns[schema.id.name]
    ids = _align(id_cells, schema.id, expected)
    problems = _id_problems(ids, schema.id)
    columns: dict[str, Array] = {}
    for target in schema.targets:
        values, faults = convert(table.columns[target.name], target)
        problems += _value_problems(target, table.columns[target.name], id_cells, faults)
        columns[target.name] = values
    if problems:
        return Report(problems=_bounded(problems), warnings=warnings, predictions=None)
    aligned = {name: values[ids.order] for name, values in columns.items()}
    targets = {target.name: target for target in schema.targets}
    return Report((), warnings, Rows(schema.id, id_array(expected, schema.id), targets, aligned))


def expected_positions(ids: Iterable[str], column: Column) -> dict[str, int]:
    """Canonical ids in their order, each with its position.

    Raises:
        PackError: There are none, one is blank or not of the id's kind, or one appears twice.
    """
    positions: dict[str, int] = {}
    for position, cell in enumerate(ids):
        key = canonical_id(cell, column)
        if isinstance(key, CellFault):
            raise PackError(f"Expected id {show(cell)} is no {column.kind} id ({key.value}); correct the task's ids.")
        if positions.setdefault(key, position) != position:
            raise PackError(f"Expected id {show(key)} appears twice; correct the task's ids.")
    if not positions:
        raise PackError(f"The task has no ids in column {column.name!r}.")
    return positions


def id_array(ids: Iterable[str], column: Column) -> Array:
    """Canonical ids as an array: int64 where all are integers of that size, else strings."""
    texts = list(ids)
    if column.kind == "integer" and all(len(text) < 19 for text in texts):
        return np.array([int(text) for text in texts], dtype=np.int64)
    return np.array(texts, dtype=np.dtypes.StringDType())


def _extra_columns(names: Sequence[str], schema: SubmissionSchema) -> tuple[str, ...]:
    extra = [name for name in names if name not in schema.columns]
    return (f"Columns that the task does not ask for are ignored: {show_some(extra, len(extra))}.",) if extra else ()


def _wrong_columns(names: Sequence[str], schema: SubmissionSchema) -> list[Problem]:
    missing = [name for name in schema.columns if name not in names]
    if not missing:
        return []
    folded = {name.casefold(): name for name in names}
    hints = [
        f"Found {show(folded[name.casefold()])}, expected {show(name)}."
        for name in missing[:MAX_EXAMPLES]
        if name.casefold() in folded
    ]
    if twins := _twins(names, missing):
        hints.append(twins)
    if len(names) == 1 and any(separator in names[0] for separator in ";\t|"):
        hints.append("Separate fields with commas.")
    message = (
        f"Columns are missing: {show_some(missing, len(missing))}. "
        f"The file has {show_some(names, len(names))}; "
        f"write {show_some(schema.columns, len(schema.columns))}."
    )
    return [
        Problem(
            code="wrong_columns",
            message=" ".join([message, *hints]),
            count=len(missing),
            examples=tuple(show(name) for name in missing[:MAX_EXAMPLES]),
        )
    ]


@dataclass(slots=True)
class _Ids:
    """How the ids of a file compare with the expected ones."""

    order: list[int]
    """For each expected id, the position of its row in the file; -1 where it is missing."""
    missing: list[str]
    unknown: list[str]
    duplicates: list[str]
    blank: int
    malformed: list[str]


def _align(cells: list[str], column: Column, expected: dict[str, int]) -> _Ids:
    order = [-1] * len(expected)
    unknown: list[str] = []
    malformed: list[str] = []
    duplicates: dict[str, None] = {}
    blank = 0
    for row, cell in enumerate(cells):
        key = cell if cell in expected else canonical_id(cell, column)
        if key is CellFault.BLANK:
            blank += 1
        elif isinstance(key, CellFault):
            malformed.append(cell)
        elif key not in expected:
            unknown.append(key)
        elif order[expected[key]] >= 0:
            duplicates[key] = None
        else:
            order[expected[key]] = row
    missing = [key for key, position in expected.items() if order[position] < 0]
    return _Ids(order, missing, unknown, list(duplicates), blank, malformed)


def _id_problems(ids: _Ids, column: Column) -> list[Problem]:
    copy = "Write the ids as the task gives them."
    problems = []
    if ids.blank:
        message = f"Blank ids in column {show(column.name)}: {ids.blank:,}. Write the id in each row."
        problems.append(Problem(code="blank_ids", message=message, count=ids.blank))
    if ids.malformed:
        problems.append(_wrong_ids("malformed_ids", ids.malformed, "Ids that are not whole numbers", copy))
    if ids.missing:
        advice = f"The task has {len(ids.order):,} ids; predict each."
        problems.append(_wrong_ids("missing_ids", ids.missing, "Missing ids", advice))
    if ids.unknown:
        none_found = "No id of the task was found. " if len(ids.missing) == len(ids.order) else ""
        twins = _twins(ids.unknown, ids.missing)
        advice = f"{none_found}{copy}{_lost_zeros(ids, column)}{' ' + twins if twins else ''}"
        problems.append(_wrong_ids("unknown_ids", ids.unknown, "Ids that the task does not have", advice))
    if ids.duplicates:
        advice = "Write one row for each id."
        problems.append(_wrong_ids("duplicate_ids", ids.duplicates, "Ids in more than one row", advice))
    return problems


def _twins(found: Iterable[str], wanted: Iterable[str]) -> str:
    """A hint where a text looks like one that is wanted, and is not: an accent may be a character of its own."""
    forms = {unicodedata.normalize("NFC", text): text for text in wanted}
    for text in found:
        twin = forms.get(unicodedata.normalize("NFC", text), text)
        if twin != text:
            return f"{show(text)} differs from {show(twin)} only by Unicode normalisation: keep the task's spelling."
    return ""


def _lost_zeros(ids: _Ids, column: Column) -> str:
    if column.kind == "integer":
        return ""
    stripped = {key.lstrip("0"): key for key in ids.missing if key.startswith("0")}
    original = next((stripped[key] for key in ids.unknown if key in stripped), None)
    return f" Leading zeros seem to be lost, as in {show(original)}: read the ids as text." if original else ""


def _wrong_ids(code: str, ids: list[str], what: str, advice: str) -> Problem:
    return Problem(
        code=code,
        message=f"{what} ({len(ids):,}): {show_some(ids, len(ids))}. {advice}",
        count=len(ids),
        examples=tuple(show(key) for key in ids[:MAX_EXAMPLES]),
    )


def _value_problems(
    column: Column, cells: list[str], ids: list[str], faults: dict[CellFault, list[int]]
) -> list[Problem]:
    problems = []
    for fault, rows in faults.items():
        first = rows[:MAX_EXAMPLES]
        if fault is CellFault.BLANK:
            examples = tuple(f"id {show(ids[row].strip())}" for row in first)
        else:
            examples = tuple(f"id {show(ids[row].strip())}: {show(cells[row])}" for row in first)
        advice = _ADVICE[fault]
        if fault is CellFault.UNKNOWN_LABEL:
            advice += f". Its labels are {show_some(column.labels, len(column.labels))}"
            if twins := _twins((cells[row] for row in rows), column.labels):
                advice += f". {twins.removesuffix('.')}"
        rest = f" and {len(rows) - len(first):,} more" if len(rows) > len(first) else ""
        problems.append(
            Problem(
                code=fault.value,
                message=f"Column {show(column.name)}: {len(rows):,} of {len(cells):,} values are {advice}. "
                f"See {', '.join(examples)}{rest}.",
                count=len(rows),
                examples=examples,
            )
        )
    return problems


def _bounded(problems: list[Problem]) -> tuple[Problem, ...]:
    if len(problems) <= MAX_PROBLEMS:
        return tuple(problems)
    rest = len(problems) - MAX_PROBLEMS
    return (*problems[:MAX_PROBLEMS], Problem(code="more_problems", message=f"And {rest:,} more problems.", count=rest))
