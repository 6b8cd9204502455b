"""Metrics of predicted numbers in which an error counts relative to the size of the truth."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Annotated, Literal

import numpy as np

from openmle_env.errors import PackError
from openmle_env.graders.metrics.examples import Golden, Trial
from openmle_env.graders.metrics.parameters import AnswerColumn, Option
from openmle_env.graders.metrics.registry import metric
from openmle_env.graders.metrics.regression import NUMBERS
from openmle_env.graders.metrics.row_means import SMALLEST, errors, numbers, weighted_mean
from openmle_env.graders.rows import Array

if TYPE_CHECKING:
    from collections.abc import Iterator

EPSILON = 2.0**-52
"""The gap between 1 and the next float64, which scikit-learn puts in the place of a true 0."""

_TRIAL = Trial(truth=(1, 2, 3, 6), perfect=(1, 2, 3, 6), noisy=(1.5, 2, 3, 5), constant=(3, 3, 3, 3))


def _negative(values: Array, *, negatives: str) -> Iterator[tuple[int, str]]:
    if negatives == "refuse":
        for row in np.flatnonzero(values < 0):
            yield int(row), "a negative number, which has no logarithm here: predict 0 or more"


@metric(
    higher_is_better=False,
    range=(0.0, math.inf),
    kinds=NUMBERS,
    source="sqrt(1/n * sum of (ln(1 + p) - ln(1 + t))^2), Kaggle's RMSLE; several target columns: the mean over "
    "columns. A negative prediction is refused or counts as 0, as the task says (scikit-learn takes any above -1).",
    degenerate="Negative truth is a fault of the task. Negative predictions: see the parameter.",
    golden=(
        Golden(truth=(0, 3), predicted=(1, 1), score=math.log(2)),
        Golden(truth=(0, 3), predicted=(-5, 3), parameters={"negatives": "clip"}, score=0.0, note="-5 counts as 0"),
        Golden(
            truth=((0.1, 2.0), (0.2, 3.0), (0.3, 1.0)),
            predicted=((0.12, 2.1), (0.18, 2.7), (0.33, 1.2)),
            score=0.046478391221725895,
            note="as MLE-bench computes it for nomad2018",
        ),
    ),
    trial=_TRIAL,
    aliases={"root_mean_squared_log_error": {}, "rmsle_mean_columnwise": {}, "mean_columnwise_rmsle": {}},
    check=_negative,
)
def rmsle(
    truth: Array,
    predicted: Array,
    *,
    negatives: Annotated[
        Literal["refuse", "clip"], Option("A negative prediction makes a submission invalid, or counts as 0.")
    ] = "refuse",
) -> float:
    """The root of the mean squared error of the logarithms of 1 + value."""
    del negatives  # those to be refused never come here
    if (truth < 0).any():
        raise PackError("A true value is negative: RMSLE is defined for 0 and more. Choose another metric.")
    return math.sqrt(np.square(np.log1p(np.maximum(predicted, 0)) - np.log1p(truth)).mean())


@metric(
    higher_is_better=False,
    range=(0.0, math.inf),
    kinds=NUMBERS,
    source="scale * mean of |p - t| / |t|; several target columns: the mean over columns. Where t = 0, zero says what "
    "counts; 'epsilon' is the rule of scikit-learn's mean_absolute_percentage_error, which divides by "
    "max(|t|, 2^-52).",
    degenerate="A true 0, or what is nearer to 0 than 1e-100, is a fault of the task, unless zero says otherwise; so "
    "is a column of which no row is left.",
    golden=(
        Golden(truth=(1, 2, 4), predicted=(2, 2, 3), score=1.25 / 3),
        Golden(truth=(1, 2, -4), predicted=(2, 2, -3), parameters={"scale": 100}, score=125 / 3),
        Golden(truth=(0, 2), predicted=(5, 3), parameters={"zero": "skip"}, score=0.5),
        Golden(truth=(0, 1), predicted=(1, 1), parameters={"zero": "epsilon"}, score=2.0**51),
    ),
    trial=_TRIAL,
    aliases={"mean_absolute_percentage_error": {"zero": "epsilon"}},
)
def mape(
    truth: Array,
    predicted: Array,
    *,
    scale: Annotated[float, Option("1 for shares, 100 for percent.", above=0)] = 1.0,
    zero: Annotated[
        Literal["refuse", "skip", "epsilon"],
        Option("Rows with a true 0: a fault of the task, left out, or divided by 2^-52."),
    ] = "refuse",
) -> float:
    """The mean of the absolute error relative to the truth."""
    size = np.abs(numbers(truth))
    distance = np.abs(errors(truth, predicted))
    if zero == "epsilon":
        return float(scale * (distance / np.maximum(size, EPSILON)).mean())
    kept = size >= SMALLEST
    if not kept.all() and zero == "refuse":
        raise PackError("A true value is 0: MAPE divides by it. Set zero to skip or epsilon, or choose smape or wape.")
    if not kept.any():
        raise PackError("All true values of a target are 0: MAPE is undefined. Choose another metric.")
    return float(scale * (distance[kept] / size[kept]).mean())


@metric(
    higher_is_better=False,
    range=(0.0, 200.0),
    kinds=NUMBERS,
    source="scale * mean of |p - t| / (|p| + |t|); several target columns: the mean over columns. The scale is the "
    "worst value: 200 is Kaggle's form, in percent of the mean of |p| and |t| (Makridakis 1993); 100, 2 and 1 are "
    "also in use.",
    degenerate="Where truth and prediction are both 0, the row counts 0. Where one of them is 0, it counts the worst.",
    golden=(
        Golden(truth=(1, 0, 2), predicted=(3, 0, 2), score=100 / 3, note="a half, 0 and 0 of 200"),
        Golden(truth=(1, 0, 2), predicted=(3, 0, 2), parameters={"scale": 2}, score=1 / 3),
        Golden(truth=(0, 5), predicted=(3, -5), parameters={"scale": 100}, score=100, note="0, or another sign"),
        Golden(truth=(0, 0), predicted=(0, 0), score=0),
    ),
    trial=_TRIAL,
    aliases={"symmetric_mean_absolute_percentage_error": {}},
)
def smape(
    truth: Array,
    predicted: Array,
    *,
    scale: Annotated[float, Option("The worst value: 200, 100, 2 or 1.", above=0, high=200)] = 200.0,
) -> float:
    """The mean of the absolute error relative to the sizes of truth and prediction together."""
    distance = np.abs(errors(truth, predicted))
    size = np.abs(numbers(truth)) + np.abs(predicted.astype(np.float64))
    return float(scale * np.divide(distance, size, out=np.zeros_like(size), where=size > 0).mean())


@metric(
    higher_is_better=False,
    range=(0.0, math.inf),
    kinds=NUMBERS,
    source="sum of w * |p - t| / sum of w * |t|, w = 1 without weights; also called weighted MAPE, or MAD/mean ratio. "
    "Several target columns: the mean over columns.",
    degenerate="A truth whose weighted sum of sizes is 0 is a fault of the task.",
    golden=(
        Golden(truth=(1, 2, 4), predicted=(2, 2, 3), score=2 / 7),
        Golden(truth=(0, -2), predicted=(1, 0), score=3 / 2, note="a true 0 is legal"),
        Golden(truth=(1, 2, 4), predicted=(2, 2, 3), parameters={"weight": "w"}, answers={"w": (2, 1, 0)}, score=2 / 4),
    ),
    trial=_TRIAL,
    aliases={"wmape": {}, "weighted_absolute_percentage_error": {}},
)
def wape(
    truth: Array,
    predicted: Array,
    *,
    weight: Annotated[Array | None, AnswerColumn("Weight of each row.")] = None,
) -> float:
    """The sum of absolute errors relative to the sum of the true sizes."""
    size = weighted_mean(np.abs(numbers(truth)), weight)
    if size < SMALLEST:
        raise PackError("The true values of a target are all 0, or have weight 0: WAPE divides by their sum.")
    return weighted_mean(np.abs(errors(truth, predicted)), weight) / size
