"""What a message says of wrong columns, ids and values; made from the file and the public specification only."""

from __future__ import annotations

import unicodedata
from dataclasses import dataclass
from typing import TYPE_CHECKING

from openmle_env.graders.echo import MAX_EXAMPLES, MAX_SHOWN, show, show_some
from openmle_env.graders.loading.cells import CellFault
from openmle_env.types import Problem

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from openmle_env.graders.loading.batches import Findings, Wrong, WrongCells
    from openmle_env.types import Column, SubmissionSchema

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


def extra_columns(names: Sequence[str], schema: SubmissionSchema) -> tuple[str, ...]:
    """A warning where a file has columns that the task does not ask for."""
    extra = [name for name in names if name not in schema.columns]
    return (f"Columns that the task does not ask for are ignored: {show_some(extra, len(extra))}.",) if extra else ()


def wrong_columns(names: Sequence[str], schema: SubmissionSchema) -> list[Problem]:
    """The problem of a file that lacks columns."""
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


@dataclass(frozen=True, slots=True)
class WrongIds:
    """How the ids of a file differ from those that are expected."""

    expected: int
    """How many are; none where a file is read without."""
    missing: Wrong
    unknown: Wrong
    duplicates: Wrong
    """Different ones that stand in more than one row."""


def id_problems(findings: Findings, wrong: WrongIds, column: Column) -> list[Problem]:
    """The problems with the ids, by sort."""
    copy = "Write the ids as the task gives them."
    problems = []
    if findings.blank_ids:
        message = f"Blank ids in column {show(column.name)}: {findings.blank_ids:,}. Write the id in each row."
        problems.append(Problem(code="blank_ids", message=message, count=findings.blank_ids))
    if findings.malformed_ids.count:
        problems.append(_wrong_ids("malformed_ids", findings.malformed_ids, "Ids that are not whole numbers", copy))
    if wrong.missing.count:
        advice = f"The task has {wrong.expected:,} ids; predict each."
        problems.append(_wrong_ids("missing_ids", wrong.missing, "Missing ids", advice))
    if wrong.unknown.count:
        none_found = "No id of the task was found. " if wrong.missing.count == wrong.expected else ""
        twins = _twins(wrong.unknown.hints, wrong.missing.hints)
        advice = f"{none_found}{copy}{_lost_zeros(wrong, column)}{' ' + twins if twins else ''}"
        problems.append(_wrong_ids("unknown_ids", wrong.unknown, "Ids that the task does not have", advice))
    if wrong.duplicates.count:
        advice = "Write one row for each id."
        problems.append(_wrong_ids("duplicate_ids", wrong.duplicates, "Ids in more than one row", advice))
    return problems


def value_problems(columns: Sequence[Column], findings: Findings) -> list[Problem]:
    """The problems with the values of each column, by fault."""
    return [
        _wrong_values(column, fault, wrong, findings.rows)
        for column, faults in zip(columns, findings.columns, strict=False)
        for fault, wrong in faults.items()
    ]


def bounded(problems: Sequence[Problem]) -> tuple[Problem, ...]:
    """The first `MAX_PROBLEMS`, and how many more there are."""
    if len(problems) <= MAX_PROBLEMS:
        return tuple(problems)
    rest = len(problems) - MAX_PROBLEMS
    return (*problems[:MAX_PROBLEMS], Problem(code="more_problems", message=f"And {rest:,} more problems.", count=rest))


def _twins(found: Iterable[str], wanted: Iterable[str]) -> str:
    """A hint where a text looks like one that is wanted, and is not: an accent may be a character of its own."""
    forms = {unicodedata.normalize("NFC", text): text for text in wanted}
    for text in found:
        if len(text) > MAX_SHOWN:  # with many accents in a row, the time that it takes grows with their square
            continue
        twin = forms.get(unicodedata.normalize("NFC", text), text)
        if twin != text:
            return f"{show(text)} differs from {show(twin)} only by Unicode normalisation: keep the task's spelling."
    return ""


def _lost_zeros(wrong: WrongIds, column: Column) -> str:
    if column.kind == "integer":
        return ""
    stripped = {key.lstrip("0"): key for key in wrong.missing.hints if key.startswith("0")}
    original = next((stripped[key] for key in wrong.unknown.hints if key in stripped), None)
    return f" Leading zeros seem to be lost, as in {show(original)}: read the ids as text." if original else ""


def _wrong_ids(code: str, ids: Wrong, what: str, advice: str) -> Problem:
    return Problem(
        code=code,
        message=f"{what} ({ids.count:,}): {', '.join(ids.examples)}{_rest(ids.examples, ids.count)}. {advice}",
        count=ids.count,
        examples=tuple(ids.examples),
    )


def _wrong_values(column: Column, fault: CellFault, wrong: WrongCells, rows: int) -> Problem:
    if fault is CellFault.BLANK:
        examples = tuple(f"id {key}" for key, _ in wrong.examples)
    else:
        examples = tuple(f"id {key}: {cell}" for key, cell in wrong.examples)
    advice = _ADVICE[fault]
    if fault is CellFault.UNKNOWN_LABEL:
        advice += f". Its labels are {show_some(column.labels, len(column.labels))}"
        if twins := _twins(wrong.labels, column.labels):
            advice += f". {twins.removesuffix('.')}"
    return Problem(
        code=fault.value,
        message=f"Column {show(column.name)}: {wrong.count:,} of {rows:,} values are {advice}. "
        f"See {', '.join(examples)}{_rest(examples, wrong.count)}.",
        count=wrong.count,
        examples=examples,
    )


def _rest(examples: Sequence[str], count: int) -> str:
    return f" and {count - len(examples):,} more" if count > len(examples) else ""
