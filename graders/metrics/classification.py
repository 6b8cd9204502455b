"""Metrics of predicted classes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from openmle_env.graders.metrics.registry import Golden, metric

if TYPE_CHECKING:
    from openmle_env.graders.rows import Rows


@metric(
    higher_is_better=True,
    range=(0.0, 1.0),
    kinds=("label", "integer", "text"),
    source="Share of equal values: 1/n * sum of [truth_i = predicted_i]; with several targets, all of them must agree.",
    degenerate="Defined for one row or more, one class included; no rows is a fault of the task.",
    golden=(
        Golden(kind="label", labels=("0", "1"), truth=("0", "1", "1", "0"), predicted=("0", "1", "0", "0"), score=0.75),
        Golden(kind="label", labels=("NA", "None"), truth=("NA", "None"), predicted=("NA", "None"), score=1.0),
        Golden(kind="integer", truth=(3, 3, 3), predicted=(2, 2, 2), score=0.0),
        Golden(kind="text", truth=("a", "b", "c"), predicted=("a", "b", " c"), score=2 / 3),
    ),
)
def accuracy(truth: Rows, predicted: Rows) -> float:
    """The share of rows whose predicted class is the true one."""
    names = [target.name for target in truth.schema.targets]
    true_rows = zip(*(truth.columns[name] for name in names), strict=True)
    predicted_rows = zip(*(predicted.columns[name] for name in names), strict=True)
    return sum(a == b for a, b in zip(true_rows, predicted_rows, strict=True)) / len(truth)
