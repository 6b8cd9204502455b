"""How the columns of a file of answers are read, for a metric: what is not said is found by the answers."""

from __future__ import annotations

import csv
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

from openmle_env.commands import answer_cells
from openmle_env.errors import UsageError
from openmle_env.types import Column, ColumnKind, SubmissionSchema

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from pathlib import Path

    from openmle_env.commands.answer_cells import Seen
    from openmle_env.graders.answers import Condition
    from openmle_env.graders.metrics import Metric

KINDS: tuple[ColumnKind, ...] = ("label", "integer", "number", "probability", "text")
MAX_NAMES = 40
"""The most names of columns that a message lists."""


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


def schema(metric: Metric, answers: Path, told: Told) -> SubmissionSchema:
    """The columns of a submission that is compared with these answers.

    The targets are, unless they are told, the columns of the answers but the id and those that parameters and the
    condition name; where a parameter names a column that holds the class, one column for each class that it holds.

    Args:
        metric: With its parameters.
        answers: The file of answers.
        told: What was said of it.

    Raises:
        UsageError: The file cannot be read, a column is not there or named twice, or what was told does not fit the
            metric.
    """
    from openmle_env.graders.answers import Condition  # numpy
    from openmle_env.graders.metric_columns import answered_targets, class_column

    there, file = answer_cells.names(answers), answers.name
    if not told.id:
        raise UsageError(f"Say which column names a row: --id COLUMN. {file} has {some(there)}.")
    condition = Condition.parse(told.rows)
    _need((told.id,), there, file)
    for parameter, _, name in metric.named_columns():
        _need((name,), there, file, what=f"--param {parameter} names")
    asked = [condition.column] if condition.column else []
    _need(asked, there, file)
    beside = {name for _, _, name in metric.named_columns()} | {*asked}
    classes = class_column(metric)
    targets = told.targets or (told.labels if classes else _targets(metric, there, {told.id} | beside, file))
    _refuse_twice(told.id, targets)
    answered = answered_targets(metric, targets)
    _need(answered, there, file)
    # Answers that are read in another way than predictions do not tell how those are read.
    telling = answered if metric.truth == "same" else ()
    whole, seen = answer_cells.look(answers, [told.id, *asked], [*answered, *([classes] if classes else [])], condition)
    if condition.column:
        _need_scored_rows(condition, whole[condition.column], file)
    if metric.truth == "binary":
        _need_yes_and_no(metric, {name: seen[name] for name in answered}, told)
    if classes and not targets:
        targets = seen[classes].classes
        _refuse_twice(told.id, targets)
    columns = tuple(_target(name, seen[name] if name in telling else None, told, metric) for name in targets)
    if told.labels and not classes and all(column.kind != "label" for column in columns):
        raise UsageError(f"--labels names classes, and targets are read as {columns[0].kind} here. Leave it out.")
    identity = Column(name=told.id, kind="integer" if whole[told.id].integers else "text")
    return SubmissionSchema(id=identity, targets=columns)


def hint(metric: Metric, told: Told) -> str:
    """What may help where the metric does not take the targets; empty if nothing comes to mind."""
    from openmle_env.graders.metric_columns import class_parameter, replaces_targets  # numpy

    if (name := class_parameter(metric)) and not replaces_targets(metric):
        return f"Where one column of the answers holds the class, name it: --param {name}=COLUMN."
    return "" if told.targets else "Name each column to compare with --target."


def some(names: Sequence[str]) -> str:
    """Names of columns for a message: all, or the first and how many there are."""
    rest = f" and {len(names) - MAX_NAMES:,} more" if len(names) > MAX_NAMES else ""
    return ", ".join(names[:MAX_NAMES]) + rest


def _need(names: Iterable[str], there: Sequence[str], file: str, *, what: str = "") -> None:
    for name in names:
        if name not in there:
            why = f"{what} the column {name!r}, and {file} has none of that name" if what else ""
            raise UsageError(f"{why or f'{file} has no column {name!r}'}; it has {some(there)}.")


def _need_scored_rows(condition: Condition, seen: Seen, file: str) -> None:
    """Refuse a condition that holds for no row, with the values, which are known to whoever runs this."""
    from openmle_env.graders.echo import show_some  # numpy

    if len(seen.values) <= answer_cells.MAX_CLASSES and not condition.holds(seen.values).any():
        sign = "=" if condition.equal else "!="
        raise UsageError(
            f"No row is scored: none of {file} has {condition.column} {sign} {condition.value}. That column holds "
            f"{show_some(sorted(seen.values), len(seen.values))}. Correct --where; cells are compared with it as text."
        )


def _need_yes_and_no(metric: Metric, answered: Mapping[str, Seen], told: Told) -> None:
    """Refuse answers that are no yes and no, with the values, which are known to whoever runs this."""
    from openmle_env.graders.echo import show_some  # numpy
    from openmle_env.graders.loading.cells import CellFault, convert  # numpy

    for name, seen in answered.items():
        found = sorted(seen.values)
        _, faults = convert(found, Column(name=name, kind="label", labels=("0", "1")))
        wrong = [found[row] for row in faults.get(CellFault.UNKNOWN_LABEL, ())]
        if wrong:
            raise UsageError(
                f"Metric {metric.name} compares with answers that are a yes and a no, such as 1 and 0; column {name!r} "
                f"holds {show_some(wrong, len(wrong))}. Write 1 and 0, or choose another metric. {hint(metric, told)}"
            )


def _refuse_twice(identity: str, targets: Sequence[str]) -> None:
    for name, times in Counter((identity, *targets)).items():
        if times > 1:
            raise UsageError(f"Column {name!r} is named twice. Name one as --id, and each --target once.")


def _targets(metric: Metric, there: Sequence[str], others: set[str], file: str) -> tuple[str, ...]:
    from openmle_env.graders.metric_columns import replaces_targets  # numpy

    found = tuple(name for name in there if name not in others)
    short = metric.answered is not None and (metric.answered < max(metric.arity[0], 1) or len(found) > metric.answered)
    if short or replaces_targets(metric):
        raise UsageError(
            f"Metric {metric.name} reads columns of a submission that are none of the answers: name the columns of "
            f"the submission, in their order, with --target. {file} has {some(there)}."
        )
    if not found:
        raise UsageError(f"{file} has no column to compare beside {', '.join(sorted(others))}. Name one: --target")
    return found


def _target(name: str, seen: Seen | None, told: Told, metric: Metric) -> Column:
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
        fallback: ColumnKind = "label" if "label" in kinds else kinds[0]
        chosen = next((known for known in kinds if seen is None or seen.fits(known)), fallback)
    if chosen not in kinds:
        raise UsageError(f"The metric does not take targets of kind {chosen!r}; it takes {', '.join(sorted(kinds))}.")
    if chosen != "label":
        # Where texts are what a metric is for, an empty one is a value: a mask without pixels, an empty list.
        return Column(name=name, kind=chosen, blank=chosen == "text" and kinds[0] == "text")
    binary = ("0", "1") if metric.truth == "binary" else ()  # which are read in any spelling of a yes and a no
    ordered = seen is None or seen.integers or len(seen.classes) < 3  # two are equally far apart either way
    if not told.labels and metric.orders_classes and not ordered:
        raise UsageError(
            f"Metric {metric.name} asks how far two classes are apart, and the order of those of column {name!r} is "
            "not known: name them from the first to the last, such as --labels low,mid,high."
        )
    classes = told.labels or binary or (seen.classes if seen else ())
    if not classes:
        raise UsageError(f"Which classes the column {name!r} may hold is not known: name them, --labels a,b,c.")
    return Column(name=name, kind="label", labels=classes)
