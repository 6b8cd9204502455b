"""Metrics of predicted classes that are shares of right rows: accuracy, and its mean over the classes."""

from __future__ import annotations

from typing import Annotated

import numpy as np

from openmle_env.errors import PackError
from openmle_env.graders.metrics.examples import Golden, Trial
from openmle_env.graders.metrics.parameters import AnswerColumn, Option
from openmle_env.graders.metrics.registry import metric
from openmle_env.graders.metrics.truth import row_weights
from openmle_env.graders.rows import Array


@metric(
    higher_is_better=True,
    range=(0.0, 1.0),
    kinds=("label", "integer", "text"),
    targets="columns",
    source="Share of equal values: sum of w_i * [truth_i = predicted_i] / sum of w_i; with several targets, all of "
    "them must agree (scikit-learn's accuracy_score, its subset accuracy for several targets).",
    degenerate="Defined for one row or more, one class included. Weights that are negative, or all 0, are a fault of "
    "the task.",
    golden=(
        Golden(kind="label", labels=("0", "1"), truth=("0", "1", "1", "0"), predicted=("0", "1", "0", "0"), score=0.75),
        Golden(kind="label", labels=("NA", "None"), truth=("NA", "None"), predicted=("NA", "None"), score=1.0),
        Golden(kind="integer", truth=(3, 3, 3), predicted=(2, 2, 2), score=0.0),
        Golden(kind="text", truth=("a", "b", "c"), predicted=("a", "b", " c"), score=2 / 3),
        Golden(kind="integer", truth=((1, 2), (1, 2)), predicted=((1, 2), (1, 3)), score=0.5),
        Golden(
            kind="integer",
            truth=(1, 2, 3),
            predicted=(1, 2, 2),
            parameters={"weight": "w"},
            answers={"w": (1, 0.5, 2.5)},
            score=1.5 / 4,
            note="Weights 1 and 0.5 of 4 in all are right.",
        ),
    ),
    trial=Trial(
        kind="integer",
        truth=(0, 1, 2, 0, 1, 2),
        perfect=(0, 1, 2, 0, 1, 2),
        noisy=(0, 1, 2, 0, 1, 0),
        constant=(0, 0, 0, 0, 0, 0),
        chance=1 / 3,
    ),
    aliases={
        "accuracy_score": {},
        "acc": {},
        "categorization_accuracy": {},
        "subset_accuracy": {},
    },
)
def accuracy(
    truth: Array,
    predicted: Array,
    *,
    weight: Annotated[Array | None, AnswerColumn("Weight of each row, at least 0.")] = None,
) -> float:
    """The share of rows whose predicted class is the true one."""
    right = (truth == predicted).all(axis=1)
    if weight is None:
        return float(right.mean())
    weights = row_weights(weight, len(truth))
    return float(weights[right].sum() / weights.sum())


@metric(
    higher_is_better=True,
    range=(-1.0, 1.0),
    kinds=("label", "integer", "text"),
    source="Mean of the recall over the classes of the truth: 1/K * sum of right_k / rows_k, from 0 to 1 "
    "(scikit-learn's balanced_accuracy_score). Adjusted for chance: (value - 1/K) / (1 - 1/K), which is at least -1. "
    "Of several targets, the mean over the columns.",
    degenerate="Classes that the truth does not hold, or holds with weight 0 only, are left out, predicted or not. "
    "With one class it is that class's recall; adjusted, it is then undefined, which is a fault of the task.",
    golden=(
        Golden(kind="integer", truth=(0, 0, 0, 1), predicted=(0, 0, 1, 1), score=5 / 6, note="Recalls 2/3 and 1."),
        Golden(
            kind="integer",
            truth=(0, 0, 0, 1),
            predicted=(0, 0, 1, 1),
            parameters={"adjusted": True},
            score=2 / 3,
            note="(5/6 - 1/2) / (1 - 1/2).",
        ),
        Golden(
            kind="label",
            labels=("a", "b", "c"),
            truth=("a", "a", "b"),
            predicted=("a", "c", "b"),
            score=0.75,
            note="Class c is predicted, but the truth does not hold it: recalls 1/2 and 1.",
        ),
        Golden(kind="text", truth=("a", "a"), predicted=("a", "b"), score=0.5, note="One class."),
        Golden(
            kind="integer",
            truth=(0, 0, 1),
            predicted=(0, 1, 1),
            parameters={"weight": "w"},
            answers={"w": (3, 1, 5)},
            score=(3 / 4 + 1) / 2,
        ),
    ),
    trial=Trial(
        kind="integer",
        truth=(0, 0, 0, 0, 1, 2),
        perfect=(0, 0, 0, 0, 1, 2),
        noisy=(0, 0, 0, 1, 1, 2),
        constant=(0, 0, 0, 0, 0, 0),
        chance=1 / 3,
    ),
    aliases={"balanced_accuracy_score": {}, "mean_per_class_accuracy": {}},
)
def balanced_accuracy(
    truth: Array,
    predicted: Array,
    *,
    classes: tuple[str, ...],
    adjusted: Annotated[bool, Option("Rescale, so that a constant scores 0 and a perfect submission 1.")] = False,
    weight: Annotated[Array | None, AnswerColumn("Weight of each row, at least 0.")] = None,
) -> float:
    """The mean over the true classes of the share of their rows that are predicted right."""
    weights = row_weights(weight, len(truth))
    total = np.bincount(truth, weights, len(classes))
    right = np.bincount(truth, weights * (truth == predicted), len(classes))
    present = total > 0
    value = float((right[present] / total[present]).mean())
    if not adjusted:
        return value
    count = int(present.sum())
    if count < 2:
        raise PackError("Adjusted balanced accuracy is undefined where the truth holds one class only.")
    return (value - 1 / count) / (1 - 1 / count)
