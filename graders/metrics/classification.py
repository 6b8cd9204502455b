"""Metrics of predicted classes."""

from __future__ import annotations

from openmle_env.graders.metrics.examples import Golden, Trial
from openmle_env.graders.metrics.registry import metric
from openmle_env.graders.rows import Array


@metric(
    higher_is_better=True,
    range=(0.0, 1.0),
    kinds=("label", "integer", "text"),
    targets="columns",
    source="Share of equal values: 1/n * sum of [truth_i = predicted_i]; with several targets, all of them must agree.",
    degenerate="Defined for one row or more, one class included; no rows is a fault of the task.",
    golden=(
        Golden(kind="label", labels=("0", "1"), truth=("0", "1", "1", "0"), predicted=("0", "1", "0", "0"), score=0.75),
        Golden(kind="label", labels=("NA", "None"), truth=("NA", "None"), predicted=("NA", "None"), score=1.0),
        Golden(kind="integer", truth=(3, 3, 3), predicted=(2, 2, 2), score=0.0),
        Golden(kind="text", truth=("a", "b", "c"), predicted=("a", "b", " c"), score=2 / 3),
        Golden(kind="integer", truth=((1, 2), (1, 2)), predicted=((1, 2), (1, 3)), score=0.5),
    ),
    trial=Trial(
        kind="integer",
        truth=(0, 1, 2, 0, 1, 2),
        perfect=(0, 1, 2, 0, 1, 2),
        noisy=(0, 1, 2, 0, 1, 0),
        constant=(0, 0, 0, 0, 0, 0),
        chance=1 / 3,
    ),
    aliases={"accuracy_score": {}, "acc": {}},
)
def accuracy(truth: Array, predicted: Array) -> float:
    """The share of rows whose predicted class is the true one."""
    return float((truth == predicted).all(axis=1).mean())
