"""A worked example of a metric as two small files and the command that compares them."""

from __future__ import annotations

import csv
import io
import shlex
from dataclasses import dataclass
from typing import TYPE_CHECKING

from openmle_env.graders.metric_columns import replaces_targets
from openmle_env.graders.metric_words import value

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from openmle_env.graders.metrics import Golden, Metric

MAX_ROWS = 8
"""Of an example that is shown, where there is one so short."""
PLAIN = (0, 1)
"""Scores that many a wrong formula gives, too: examples of others are shown rather."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Example:
    """Two tables, each with its id and one list of cells for each column, and what comparing them gives."""

    answers: Mapping[str, Sequence[str]]
    submission: Mapping[str, Sequence[str]]
    command: str
    """For the files ``answers.csv`` and ``submission.csv``."""
    score: float
    note: str

    @property
    def rows(self) -> int:
        """How many rows both tables have."""
        return len(self.submission["id"])


def example(metric: Metric) -> Example:
    """The worked example that says most of a metric: short, and with a score that is not reached by chance.

    For a metric with parameters, such as `f2`, the first example with these; else the first that is worth showing.

    >>> from openmle_env.graders import metrics
    >>> example(metrics.get("mae")).command
    'openmle grade answers.csv submission.csv --metric mae --id id'
    """
    return as_files(metric, max(metric.golden, key=lambda golden: _worth(metric, golden)))


def as_files(metric: Metric, golden: Golden) -> Example:
    """A worked example as files."""
    used, truth, predicted = metric.example(golden)
    ids = {"id": [str(row + 1) for row in range(len(predicted))]}
    held = {name: [str(cell) for cell in truth.cells(name)] for name in truth.columns}
    found = {name: [str(cell) for cell in predicted.cells(name)] for name in predicted.columns}
    options = [f"--param={name}={_cell(one)}" for name, one in golden.parameters.items()]
    beside = {column for _, _, column in used.named_columns()}
    if replaces_targets(used) or used.answered is not None or [one for one in held if one not in beside] != [*found]:
        options += [f"--target={name}" for name in found]
    if golden.labels:
        options.append(f"--labels={','.join(golden.labels)}")
    elif golden.kind:
        options.append(f"--kind={golden.kind}")
    split = [part for option in options for part in option.split("=", 1)]
    command = ["openmle", "grade", "answers.csv", "submission.csv", "--metric", metric.name, "--id", "id", *split]
    return Example(
        answers=ids | held, submission=ids | found, command=shlex.join(command), score=golden.score, note=golden.note
    )


def as_csv(columns: Mapping[str, Sequence[str]]) -> str:
    r"""A table as the text of a file.

    >>> as_csv({"id": ["1", "2"], "y": ["a, b", ""]})
    'id,y\n1,"a, b"\n2,\n'
    """
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows(zip(*columns.values(), strict=True))
    return text.getvalue()


def _worth(metric: Metric, golden: Golden) -> tuple[bool, bool, bool, bool]:
    """Whether an example is short, its score no bound, its parameters needed; and whether the score is no chance."""
    given = metric.with_parameters(golden.parameters).given
    needed = {parameter.name for parameter in metric.parameters if parameter.mark.needed}
    fitting = set(metric.given) <= set(given) and all(given[name] == one for name, one in metric.given.items())
    return (
        len(golden.predicted) <= MAX_ROWS,
        fitting and golden.score not in {*metric.range, *PLAIN},
        set(given) <= needed | set(metric.given),
        golden.score > 0 and golden.score != 0.5,
    )


def _cell(given: object) -> str:
    return "" if given == "" else value(given)
