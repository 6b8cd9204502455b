"""Which columns a metric with its parameters reads: what has to be known to find, or to make, columns for it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from openmle_env.graders.metrics.parameters import AnswerColumn

if TYPE_CHECKING:
    from collections.abc import Sequence

    from openmle_env.graders.metrics import Metric


def class_parameter(metric: Metric) -> str:
    """The parameter that can name a column of the answers that holds the name of a target; empty if there is none."""
    for parameter in metric.parameters:
        mark = parameter.mark
        if isinstance(mark, AnswerColumn) and mark.replaces_targets and mark.kind == "class":
            return parameter.name
    return ""


def class_column(metric: Metric) -> str:
    """The column that it was told to read the name of a target from, instead of the targets; empty if there is none."""
    return str(metric.given.get(class_parameter(metric), ""))


def replaces_targets(metric: Metric) -> bool:
    """Whether it was told a column of the answers that stands for the targets."""
    return any(mark.replaces_targets for _, mark, _ in metric.named_columns())


def answered_targets(metric: Metric, targets: Sequence[str]) -> Sequence[str]:
    """Those of the targets that are columns of the answers, too."""
    return () if replaces_targets(metric) else targets[: metric.answered]
