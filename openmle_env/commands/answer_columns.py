"""How the columns of a file of answers are read, for a metric: what is not said is found by the answers."""

from __future__ import annotations

import csv
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from openmle_env.errors import UsageError
from openmle_env.types import Column, ColumnKind, SubmissionSchema

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from openmle_env.graders.metrics import Metric

KINDS: tuple[ColumnKind, ...] = ("label", "integer", "number", "probability", "text")


@dataclass(frozen=True, slots=True, kw_only=True)
class Told:
    """What was said of a file of answers; all but the id may be left out."""

    id: str
    targets: tuple[str, ...] = ()
    kind: str = ""
    """Of every target."""
    labels: tuple[str, ...] = ()
    """Every class, in the task's order."""
    rows: str = ""
    """Which rows are scored, as `openmle_env.graders.answers.Condition` reads it."""


def parameters(pairs: Sequence[str]) -> dict[str, str]:
    """The parameters that were given as ``NAME=VALUE``.

    Raises:
        UsageError: One has no ``=``, or a name stands twice.
    """
    found: dict[str, str] = {}
    for pair in pairs:
        name, sign, value = pair.partition("=")
        name = name.strip()
        if not sign or not name:
            raise UsageError(f"--param {pair!r} should be NAME=VALUE, such as k=5.")
        if name in found:
            raise UsageError(f"--param {name} is given twice. Give it once.")
        found[name] = value
    return found


def labels(text: str) -> tuple[str, ...]:
    """Labels separated by commas; one that holds a comma is quoted.

    Raises:
        UsageError: One is empty, or stands twice.
    """
    try:
        found = tuple(label.strip() for label in next(csv.reader([text]), []))
    except csv.Error:
        found = ()
    if not found or "" in found or len(set(found)) != len(found):
        raise UsageError(f"--labels {text!r} should name each class once, separated by commas, such as low,mid,high.")
    return found


def schema(metric: Metric, cells: Mapping[str, Sequence[str]], told: Told, file: str) -> SubmissionSchema:
    """The columns of a submission that is compared with these answers.

    The targets are, unless they are told, the columns of the answers but the id and those that parameters and the
    condition name; where a parameter names a column that holds the class, one column for each class that it holds.

    Args:
        metric: With its parameters.
        cells: The columns of the answers.
        told: What was said of them.
        file: Name of the answers' file, for messages.

    Raises:
        UsageError: A column is not there or named twice, or what was told does not fit the metric.
    """
    from openmle_env.graders.answers import Condition
    from openmle_env.graders.metric_words import answered_targets, class_column, column_names

    if not told.id:
        raise UsageError(f"Say which column names a row: --id COLUMN. {file} has {', '.join(cells)}.")
    condition = Condition.parse(told.rows)
    beside = [*column_names(metric), *([condition.column] if condition.column else [])]
    _need((told.id, *beside), cells, file)
    targets = told.targets or _targets(metric, cells, told, {told.id, *beside}, file)
    for name in (told.id, *targets):
        if (told.id, *targets).count(name) > 1:
            raise UsageError(f"Column {name!r} is named twice. Name one as --id, and each --target once.")
    answered = answered_targets(metric, targets)
    _need(answered, cells, file)
    scored = condition.holds(cells[condition.column]) if condition.column else None

    def answers(name: str) -> list[str]:
        """The answers of a target that count; none where there are none, or they are read in another way."""
        if metric.truth != "same" or name not in answered:
            return []
        column = cells[name]
        return list(column) if scored is None else [cell for cell, counts in zip(column, scored, strict=True) if counts]

    columns = tuple(_target(name, answers(name), told, metric) for name in targets)
    if told.labels and not class_column(metric) and all(column.kind != "label" for column in columns):
        raise UsageError(f"--labels names classes, and targets are read as {columns[0].kind} here. Leave it out.")
    identity = Column(name=told.id, kind="integer" if all_integers(cells[told.id]) else "text")
    return SubmissionSchema(id=identity, targets=columns)


def _need(names: Sequence[str], cells: Mapping[str, Sequence[str]], file: str) -> None:
    for name in names:
        if name not in cells:
            raise UsageError(f"{file} has no column {name!r}; it has {', '.join(cells)}.")


def _targets(
    metric: Metric, cells: Mapping[str, Sequence[str]], told: Told, others: set[str], file: str
) -> tuple[str, ...]:
    from openmle_env.graders.metric_words import class_column, replaces_targets

    classes = class_column(metric)
    if classes:
        return told.labels or _in_order({cell.strip() for cell in cells[classes]} - {""})
    found = tuple(name for name in cells if name not in others)
    short = metric.answered is not None and (metric.answered < max(metric.arity[0], 1) or len(found) > metric.answered)
    if short or replaces_targets(metric):
        raise UsageError(
            f"Metric {metric.name} reads columns of a submission that are none of the answers: name the columns of "
            f"the submission, in their order, with --target. {file} has {', '.join(cells)}."
        )
    if not found:
        raise UsageError(f"{file} has no column to compare beside {', '.join(sorted(others))}. Name one: --target")
    return found


def _target(name: str, cells: Sequence[str], told: Told, metric: Metric) -> Column:
    """How a target is read: as told, else by the first kind of the metric that the answers fit.

    A yes and a no, 1 and 0 included, are labels in any spelling, and refuse a third value unless another kind is told.
    Other labels come last unless they are told, since a submission may hold a class that the answers lack.
    """
    kinds = metric.kinds
    if told.kind:
        chosen = next(known for known in KINDS if known == told.kind)
    elif told.labels and "label" in kinds:
        chosen = "label"
    else:
        fits: dict[ColumnKind, Callable[[Sequence[str]], bool]] = {**_FITS, "label": _is_yes_and_no}
        fallback: ColumnKind = "label" if "label" in kinds else kinds[0]
        chosen = next((known for known in kinds if not cells or fits[known](cells)), fallback)
    if chosen not in kinds:
        raise UsageError(f"The metric does not take targets of kind {chosen!r}; it takes {', '.join(sorted(kinds))}.")
    if chosen != "label":
        # Where texts are what a metric is for, an empty one is a value: a mask without pixels, an empty list.
        return Column(name=name, kind=chosen, blank=chosen == "text" and kinds[0] == "text")
    classes = told.labels or _in_order({cell.strip() for cell in cells} - {""})
    if not classes:
        raise UsageError(f"Which classes the column {name!r} may hold is not known: name them, --labels a,b,c.")
    return Column(name=name, kind="label", labels=classes)


def _in_order(names: set[str]) -> tuple[str, ...]:
    """Sorted, as numbers where all are: the order of rows never matters."""
    return tuple(sorted(names, key=int) if all_integers(list(names)) else sorted(names))


def all_integers(cells: Sequence[str]) -> bool:
    """Whether all are integers; not so with leading zeros, which mean something."""
    return all(re.fullmatch(r"-?(0|[1-9][0-9]*)", cell.strip()) for cell in cells)


def _numbers(cells: Sequence[str]) -> list[float] | None:
    try:
        return [float(cell) for cell in cells]
    except ValueError:
        return None


def _is_yes_and_no(cells: Sequence[str]) -> bool:
    from openmle_env.graders.cells import yes_and_no  # numpy

    return bool(yes_and_no(set(cells)))


def _all_probabilities(cells: Sequence[str]) -> bool:
    numbers = _numbers(cells)
    return numbers is not None and all(0 <= number <= 1 for number in numbers)


_FITS: dict[ColumnKind, Callable[[Sequence[str]], bool]] = {
    "integer": all_integers,
    "number": lambda cells: _numbers(cells) is not None,
    "probability": _all_probabilities,
    "text": lambda _: True,
}
