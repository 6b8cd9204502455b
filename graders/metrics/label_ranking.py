"""Metrics of how the scores of each row rank its true labels above the other ones."""

from __future__ import annotations

from typing import Annotated, Literal

import numpy as np

from openmle_env.errors import PackError
from openmle_env.graders.metrics.examples import Golden, Trial
from openmle_env.graders.metrics.parameters import Option
from openmle_env.graders.metrics.registry import metric
from openmle_env.graders.rows import Array

_CELLS = 1 << 20
"""How many cells are ranked at a time, so that memory stays a small multiple of the submission's."""


@metric(
    higher_is_better=True,
    range=(0.0, 1.0),
    kinds=("number", "probability"),
    truth="binary",
    targets="columns",
    arity=(2, 1_000_000),
    source="The precision at a true label is the share of true labels among all labels of its row whose scores are at "
    "least its own. The mean over all true labels of all rows is the label-weighted label-ranking average precision of "
    "Freesound Audio Tagging 2019 (lwlrap); the mean over rows of their means is the label-ranking average precision "
    "(Schapire and Singer 2000; Tsoumakas et al. 2010; scikit-learn's label_ranking_average_precision_score).",
    degenerate="Rows without a true label are left out (scikit-learn counts them as 1); if none has one, it is a fault "
    "of the task. Labels of equal score share the lowest of their ranks, so that a constant scores each row's share of "
    "true labels.",
    golden=(
        Golden(truth=((1, 0, 0), (0, 0, 1)), predicted=((0.75, 0.5, 1), (1, 0.2, 0.1)), score=5 / 12, note="1/2, 1/3."),
        Golden(
            truth=((1, 1, 0), (0, 0, 1)),
            predicted=((0.9, 0.1, 0.5), (0.1, 0.2, 0.3)),
            score=(1 + 2 / 3 + 1) / 3,
        ),
        Golden(
            truth=((1, 1, 0), (0, 0, 1)),
            predicted=((0.9, 0.1, 0.5), (0.1, 0.2, 0.3)),
            parameters={"average": "rows"},
            score=(5 / 6 + 1) / 2,
        ),
        Golden(truth=((1, 1, 0), (0, 0, 0)), predicted=((1, 2, 3), (1, 2, 3)), score=(1 / 2 + 2 / 3) / 2),
        Golden(
            truth=((1, 0, 0, 0), (1, 1, 1, 0)), predicted=((5, 5, 5, 5), (5, 5, 5, 5)), score=(1 / 4 + 3 * 3 / 4) / 4
        ),
        Golden(truth=((1, 1, 0),), predicted=((5, 3, 5),), score=(1 / 2 + 2 / 3) / 2, note="A tie with a wrong label."),
    ),
    trial=Trial(
        truth=((1, 0, 0, 0), (0, 1, 1, 0), (0, 0, 0, 1)),
        perfect=((9, 1, 1, 1), (1, 9, 8, 1), (1, 1, 1, 9)),
        noisy=((9, 1, 1, 1), (1, 9, 3, 4), (1, 1, 4, 3)),
        constant=((5, 5, 5, 5),) * 3,
        chance=(1 / 4 + 2 * 2 / 4 + 1 / 4) / 4,
    ),
    aliases={
        "label_weighted_label_ranking_average_precision": {},
        "label_ranking_average_precision": {"average": "rows"},
        "lrap": {"average": "rows"},
    },
)
def lwlrap(
    truth: Array,
    predicted: Array,
    *,
    average: Annotated[
        Literal["labels", "rows"], Option("Whether each true label counts the same, or each row that has one.")
    ] = "labels",
) -> float:
    """Label-ranking average precision, over true labels (lwlrap) or over rows."""
    labels = truth.sum(axis=1)
    if not labels.any():
        raise PackError("The label-ranking average precision is undefined: no row that is scored has a label.")
    sums = np.zeros(len(truth))
    step = max(1, _CELLS // truth.shape[1])
    for start in range(0, len(truth), step):
        rows = slice(start, start + step)
        sums[rows] = _sums_of_precisions(truth[rows], predicted[rows])
    if average == "labels":
        return float(sums.sum() / labels.sum())
    return float(np.mean(sums[labels > 0] / labels[labels > 0]))


def _sums_of_precisions(truth: Array, scores: Array) -> Array:
    """For each row the sum of the precisions at its true labels; shape (rows,), from two of (rows, labels)."""
    order = np.argsort(-scores, axis=1)
    ordered = np.take_along_axis(scores, order, axis=1)
    true = np.take_along_axis(truth, order, axis=1)
    # Where the labels of one score end: the position itself, or that of the next end to its right.
    places = np.broadcast_to(np.arange(scores.shape[1]), scores.shape)
    ends = np.full(scores.shape, scores.shape[1] - 1)
    ends[:, :-1] = np.where(ordered[:, :-1] != ordered[:, 1:], places[:, :-1], scores.shape[1] - 1)
    ends = np.minimum.accumulate(ends[:, ::-1], axis=1)[:, ::-1]
    found = np.take_along_axis(true.cumsum(axis=1), ends, axis=1)
    return np.asarray((found / (ends + 1) * true).sum(axis=1))
