"""Metrics of the probability of a 1, column by column: log loss, Brier score, calibration error, probabilistic F."""

from __future__ import annotations

from typing import Annotated

import numpy as np

from openmle_env.errors import PackError
from openmle_env.graders.metrics.examples import Golden, Trial
from openmle_env.graders.metrics.parameters import AnswerColumn, Option
from openmle_env.graders.metrics.registry import metric
from openmle_env.graders.metrics.truth import row_weights
from openmle_env.graders.rows import Array

_LN = {value: -float(np.log(value)) for value in (0.5, 0.6, 0.8, 0.9, 1e-15)}
"""Negative logarithms that the examples add up."""


@metric(
    higher_is_better=False,
    range=(0.0, np.inf),
    kinds=("probability",),
    truth="binary",
    targets="column",
    source="Binary cross-entropy: -sum of w * ln(q) / sum of w, where q = p if the truth is 1 and 1 - p if it is 0, "
    "clipped to [clip, 1 - clip]; with several columns, the mean over them (multilabel log loss). The clip of 1e-15 is "
    "that of Kaggle's competitions; scikit-learn's moved to the machine epsilon (2.220446049250313e-16 for doubles).",
    degenerate="One class in the answers is no exception: the labels are always 0 and 1. Certain and wrong costs "
    "-ln(clip), 34.54 for the default, on either side.",
    golden=(
        Golden(
            truth=(1, 0, 1, 0),
            predicted=(0.9, 0.2, 0.6, 0.4),
            score=(_LN[0.9] + _LN[0.8] + _LN[0.6] + _LN[0.6]) / 4,
            note="MLE-bench scores 0.3375388286260044 on this file (Statoil iceberg).",
        ),
        Golden(truth=(0, 1), predicted=(1.0, 0.0), score=34.538776394910684, note="-ln(1e-15), on either side."),
        Golden(truth=(0, 1), predicted=(1.0, 0.0), parameters={"clip": 2.0**-52}, score=36.04365338911715),
        Golden(truth=(1, 1, 1), predicted=(0.0, 0.0, 0.0), score=_LN[1e-15], note="One class: wrong stays wrong."),
        Golden(
            truth=(1, 0),
            predicted=(0.5, 0.2),
            parameters={"weight": "w"},
            answers={"w": (3, 1)},
            score=(3 * _LN[0.5] + _LN[0.8]) / 4,
        ),
        Golden(
            truth=((1, 0), (0, 0)),
            predicted=((0.5, 0.2), (0.5, 0.2)),
            score=(_LN[0.5] + _LN[0.8]) / 2,
            note="The mean over two columns.",
        ),
    ),
    trial=Trial(
        truth=(0, 1, 0, 1),
        perfect=(0.0, 1.0, 0.0, 1.0),
        noisy=(0.2, 0.9, 0.4, 0.6),
        constant=(0.5, 0.5, 0.5, 0.5),
        chance=_LN[0.5],
    ),
    one_class="multiclass_log_loss",
    aliases={
        "log_loss_binary": {},
        "binary_log_loss": {},
        "binary_cross_entropy": {},
        "multilabel_log_loss": {},
        "mean_columnwise_log_loss": {},
        "logloss": {},
    },
)
def log_loss(
    truth: Array,
    predicted: Array,
    *,
    clip: Annotated[float, Option("No probability counts as less than this.", above=0, high=0.1)] = 1e-15,
    weight: Annotated[Array | None, AnswerColumn("Weight of each row.")] = None,
) -> float:
    """Log loss of the probability of a 1; the mean over columns where there are several."""
    of_truth = np.where(truth == 1, predicted, 1 - predicted)
    return float(np.average(-np.log(of_truth.clip(clip, 1 - clip)), weights=row_weights(weight, len(truth))))


@metric(
    higher_is_better=False,
    range=(0.0, 1.0),
    kinds=("probability",),
    truth="binary",
    targets="column",
    source="Mean squared error of the probability of a 1: sum of w * (p - y)^2 / sum of w (Brier 1950, in the form for "
    "two classes, half of the original); scikit-learn's brier_score_loss is the same. Several columns: the mean.",
    degenerate="Defined for one class too.",
    golden=(
        Golden(truth=(0, 1, 1, 0), predicted=(0.1, 0.9, 0.8, 0.3), score=0.0375, note="scikit-learn's own example."),
        Golden(truth=(1, 1), predicted=(0.0, 0.0), score=1.0),
        Golden(
            truth=(1, 0),
            predicted=(0.5, 0.0),
            parameters={"weight": "w"},
            answers={"w": (1, 3)},
            score=0.0625,
        ),
        Golden(truth=((1, 0), (0, 0)), predicted=((1.0, 0.5), (0.0, 0.5)), score=0.125, note="The mean of 0 and 1/4."),
    ),
    trial=Trial(
        truth=(0, 1, 0, 1),
        perfect=(0.0, 1.0, 0.0, 1.0),
        noisy=(0.2, 0.9, 0.4, 0.6),
        constant=(0.5, 0.5, 0.5, 0.5),
        chance=0.25,
    ),
    one_class="multiclass_brier",
    aliases={"brier_score": {}, "brier_score_loss": {}},
)
def brier(
    truth: Array,
    predicted: Array,
    *,
    weight: Annotated[Array | None, AnswerColumn("Weight of each row.")] = None,
) -> float:
    """Brier score of the probability of a 1; the mean over columns where there are several."""
    return float(np.average((predicted - truth) ** 2, weights=row_weights(weight, len(truth))))


@metric(
    higher_is_better=False,
    range=(0.0, 1.0),
    kinds=("probability",),
    truth="binary",
    targets="column",
    source="Expected calibration error of the probability of a 1: the probabilities fall into bins of equal width, the "
    "upper end of each included and 0 in the first; sum over bins of n_bin / n * |mean probability - share of 1| "
    "(Naeini et al. 2015, Guo et al. 2017). Several columns: the mean.",
    degenerate="Defined for one class too. The constant base rate has no calibration error, so this metric is no "
    "measure of a model by itself.",
    golden=(
        Golden(truth=(0, 1, 1, 1), predicted=(0.2, 0.2, 0.9, 0.9), parameters={"bins": 2}, score=0.2),
        Golden(truth=(0, 1), predicted=(0.5, 0.51), parameters={"bins": 2}, score=0.495, note="0.5 is in the first."),
        Golden(truth=(0, 1), predicted=(0.5, 0.5), score=0.0, note="The base rate."),
        Golden(truth=(1, 1), predicted=(0.0, 0.0), score=1.0),
    ),
    trial=Trial(
        truth=(0, 1, 0, 1),
        perfect=(0.0, 1.0, 0.0, 1.0),
        noisy=(0.1, 0.9, 0.2, 0.8),
        constant=(0.9, 0.9, 0.9, 0.9),
    ),
    aliases={"ece": {}},
)
def expected_calibration_error(
    truth: Array,
    predicted: Array,
    *,
    bins: Annotated[int, Option("Bins of equal width.", low=1, high=100_000)] = 15,
) -> float:
    """How far probabilities of a 1 are from the shares of 1 that they foretell, in bins."""
    # The edges are the doubles next to k / bins, so that a probability written as that fraction is at the edge.
    chosen = np.searchsorted(np.arange(1, bins) / bins, predicted, side="left")
    gaps = np.bincount(chosen, predicted - truth, minlength=bins)
    return float(np.abs(gaps).sum() / len(truth))


@metric(
    higher_is_better=True,
    range=(0.0, 1.0),
    kinds=("number", "probability"),
    truth="binary",
    targets="column",
    source="F-beta with probabilities in place of counts: precision P = sum of p over the ones / sum of p, recall R = "
    "sum of p over the ones / number of ones, F = (1 + beta^2) * P * R / (beta^2 * P + R), p clipped to [0, 1] (RSNA "
    "Screening Mammography Breast Cancer Detection 2023; Yacouby and Axman 2020). Several columns: the mean.",
    degenerate="Answers without a 1 are a fault of the task. It is 0 where the ones get no probability, all zeros "
    "included.",
    golden=(
        Golden(truth=(1, 0, 1, 0), predicted=(0.8, 0.3, 0.4, 0.1), score=2 / 3, note="P = 1.2 / 1.6, R = 0.6."),
        Golden(truth=(1, 0, 1, 0), predicted=(1.8, -0.3, 0.4, 0.1), score=0.8, note="Clipped: P = 14 / 15, R = 0.7."),
        Golden(truth=(1, 0, 1, 0), predicted=(0.0, 0.0, 0.0, 0.0), score=0.0),
        Golden(
            truth=(1, 0, 1),
            predicted=(0.9, 0.2, 0.6),
            parameters={"beta": 2},
            score=0.7731958762886597,
            note="P = 15 / 17, R = 3 / 4: 75 / 97. MLE-bench's value too.",
        ),
    ),
    trial=Trial(
        truth=(1, 0, 1, 0),
        perfect=(1.0, 0.0, 1.0, 0.0),
        noisy=(0.8, 0.3, 0.7, 0.1),
        constant=(0.5, 0.5, 0.5, 0.5),
        chance=0.5,
    ),
    aliases={"probabilistic_f1": {"beta": 1.0}, "pf1": {"beta": 1.0}, "pfbeta": {}},
)
def probabilistic_fbeta(
    truth: Array,
    predicted: Array,
    *,
    beta: Annotated[float, Option("How much recall weighs against precision.", low=0.001, high=1000)] = 1.0,
) -> float:
    """F-beta of probabilities, which count as shares of a detection; the mean over columns where there are several."""
    ones = int((truth == 1).sum())
    if not ones:
        raise PackError("The probabilistic F is undefined: none of the answers that are scored is a 1.")
    shares = predicted.clip(0.0, 1.0)
    found = shares[truth == 1].sum()
    # The formula of precision and recall, both multiplied out: nothing is divided by the sum of all shares.
    return float((1 + beta**2) * found / (beta**2 * ones + shares.sum()))
