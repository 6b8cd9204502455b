"""Metrics of predicted numbers: absolute and squared errors, and explained variance."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Annotated, Literal

import numpy as np

from openmle_env.errors import PackError
from openmle_env.graders.metrics.examples import Golden, Trial
from openmle_env.graders.metrics.parameters import AnswerColumn, Option
from openmle_env.graders.metrics.registry import metric
from openmle_env.graders.metrics.row_means import (
    SMALLEST,
    errors,
    group_codes,
    group_means,
    needed,
    numbers,
    weighted_mean,
)
from openmle_env.graders.rows import Array

if TYPE_CHECKING:
    from openmle_env.types import ColumnKind

NUMBERS: tuple[ColumnKind, ...] = ("number", "integer", "probability")

_DEFINED = "Defined for one row or more. Weights that are negative or all 0 are a fault of the task."
_TRIAL = Trial(truth=(1, 2, 3, 6), perfect=(1, 2, 3, 6), noisy=(1.5, 2, 3, 5), constant=(3, 3, 3, 3))


@metric(
    higher_is_better=False,
    range=(0.0, math.inf),
    kinds=NUMBERS,
    source="sum of w * |p - t| / sum of w over the rows, w = 1 without weights (as scikit-learn's "
    "mean_absolute_error); several target columns: the mean over columns.",
    degenerate=_DEFINED,
    golden=(
        Golden(truth=(1, 2, 3), predicted=(1, 4, 0), score=5 / 3),
        Golden(truth=(1, 2, 3), predicted=(1, 4, 0), parameters={"weight": "w"}, answers={"w": (1, 1, 2)}, score=8 / 4),
        Golden(truth=((1, 10), (2, 20)), predicted=((2, 10), (2, 10)), score=(0.5 + 5) / 2, note="mean over columns"),
        Golden(truth=(100, 250, 400), predicted=(100, 240, 300), score=110 / 3),
        Golden(
            truth=(100, 250, 400),
            predicted=(100, 240, 300),
            parameters={"compat": "mlebench"},
            score=37,
            note="rounded to a whole number",
        ),
        Golden(truth=(0, 0), predicted=(2, 3), parameters={"compat": "mlebench"}, score=2, note="2.5: half to even"),
    ),
    trial=_TRIAL,
    aliases={
        "mean_absolute_error": {},
        "mae_rounded_int": {"compat": "mlebench"},
    },
)
def mae(
    truth: Array,
    predicted: Array,
    *,
    weight: Annotated[Array | None, AnswerColumn("Weight of each row.")] = None,
    compat: Annotated[
        Literal["", "mlebench"],
        Option("'mlebench' rounds to a whole number, half to even, as MLE-bench does for volcanic eruptions."),
    ] = "",
) -> float:
    """The mean absolute error."""
    value = weighted_mean(np.abs(errors(truth, predicted)), weight)
    return float(np.rint(value)) if compat == "mlebench" else value


@metric(
    higher_is_better=False,
    range=(0.0, math.inf),
    kinds=NUMBERS,
    source="The median of |p - t|; of an even number of rows, the mean of the middle two (as scikit-learn's "
    "median_absolute_error); several target columns: the mean over columns.",
    degenerate="Defined for one row or more.",
    golden=(
        Golden(truth=(1, 2, 3), predicted=(1, 4, 0), score=2),
        Golden(truth=(0, 0, 0, 0), predicted=(1, -2, 4, 100), score=3, note="(2 + 4) / 2"),
        Golden(truth=(7,), predicted=(7,), score=0),
    ),
    trial=Trial(truth=(1, 2, 3, 6), perfect=(1, 2, 3, 6), noisy=(1.5, 2, 3, 5), constant=(9, 9, 9, 9)),
    aliases={"median_absolute_error": {}, "medae": {}},
)
def median_ae(truth: Array, predicted: Array) -> float:
    """The median absolute error."""
    return float(np.median(np.abs(errors(truth, predicted))))


@metric(
    higher_is_better=False,
    range=(0.0, math.inf),
    kinds=NUMBERS,
    source="sum of w * (p - t)^2 / sum of w over the rows, w = 1 without weights (as scikit-learn's "
    "mean_squared_error); several target columns: the mean over columns.",
    degenerate=_DEFINED,
    golden=(
        Golden(truth=(1, 2, 3), predicted=(1, 4, 0), score=13 / 3),
        Golden(
            truth=(1, 2, 3), predicted=(1, 4, 0), parameters={"weight": "w"}, answers={"w": (1, 1, 2)}, score=22 / 4
        ),
        Golden(truth=((1, 10), (2, 20)), predicted=((2, 10), (2, 10)), score=(0.5 + 50) / 2, note="mean over columns"),
    ),
    trial=_TRIAL,
    aliases={"mean_squared_error": {}},
)
def mse(
    truth: Array,
    predicted: Array,
    *,
    weight: Annotated[Array | None, AnswerColumn("Weight of each row.")] = None,
) -> float:
    """The mean squared error."""
    return weighted_mean(np.square(errors(truth, predicted)), weight)


@metric(
    higher_is_better=False,
    range=(0.0, math.inf),
    kinds=NUMBERS,
    source="sqrt(sum of w * (p - t)^2 / sum of w) over the rows, w = 1 without weights (as scikit-learn's "
    "root_mean_squared_error). Several target columns: the mean of the columns' roots, which Kaggle calls MCRMSE, "
    "and not the root over all cells.",
    degenerate=_DEFINED,
    golden=(
        Golden(truth=(0, 0), predicted=(3, 4), score=math.sqrt(12.5)),
        Golden(
            truth=(0, 0, 0),
            predicted=(3, 4, 9),
            parameters={"weight": "w"},
            answers={"w": (3, 1, 0)},
            score=math.sqrt(43 / 4),
        ),
        Golden(
            truth=((0, 5), (0, 5)), predicted=((3, 5), (4, 5)), score=math.sqrt(12.5) / 2, note="not the root of 6.25"
        ),
    ),
    trial=_TRIAL,
    aliases={"root_mean_squared_error": {}, "mcrmse": {}, "mean_columnwise_rmse": {}},
)
def rmse(
    truth: Array,
    predicted: Array,
    *,
    weight: Annotated[Array | None, AnswerColumn("Weight of each row.")] = None,
) -> float:
    """The root of the mean squared error."""
    return math.sqrt(weighted_mean(np.square(errors(truth, predicted)), weight))


@metric(
    higher_is_better=False,
    range=(-math.inf, math.inf),
    kinds=("number", "integer"),
    source="Mean over groups of ln(max(mean |p - t| of the group's rows, floor)): the metric of Kaggle's "
    "champs-scalar-coupling, where the group is the type of coupling and the floor 1e-9.",
    degenerate="A group without error counts ln(floor). A group without rows in the part that is scored is left out.",
    golden=(
        Golden(
            truth=(80, 90, -10),
            predicted=(82, 89, -10.5),
            parameters={"group": "type"},
            answers={"type": ("1JHC", "1JHC", "2JHH")},
            score=math.log(1.5 * 0.5) / 2,
        ),
        Golden(
            truth=(1, 2), predicted=(1, 2), parameters={"group": "g"}, answers={"g": ("a", "a")}, score=math.log(1e-9)
        ),
        Golden(
            truth=(1, 2),
            predicted=(1, 4),
            parameters={"group": "g", "floor": 0.5},
            answers={"g": ("a", "b")},
            score=math.log(0.5 * 2) / 2,
        ),
    ),
    trial=Trial(
        truth=(1, 2, 3, 6),
        perfect=(1, 2, 3, 6),
        noisy=(1.5, 2, 3, 5),
        constant=(3, 3, 3, 3),
        parameters={"group": "g"},
        answers={"g": ("a", "a", "b", "b")},
    ),
    aliases={"log_mae_grouped": {}, "group_mean_log_mae": {}},
)
def group_log_mae(
    truth: Array,
    predicted: Array,
    *,
    group: Annotated[Array | None, AnswerColumn("The group of each row.", kind="text", needed=True)] = None,
    floor: Annotated[float, Option("The least mean error that counts.", above=0)] = 1e-9,
) -> float:
    """The mean over groups of the logarithm of the group's mean absolute error."""
    means = group_means(np.abs(errors(truth, predicted)), group_codes(needed(group, "group")))
    return float(np.log(np.maximum(means, floor)).mean())


def _spread(truth: Array) -> float:
    """The sum of squared distances of the truth from its mean, which is not 0."""
    true = numbers(truth)
    spread = float(np.square(true - true.mean()).sum())
    if true.min() == true.max() or spread < SMALLEST:
        raise PackError(
            "All true values of a target are equal, or as good as that: no share of their variance can be explained."
        )
    return spread


@metric(
    higher_is_better=True,
    range=(-math.inf, 1.0),
    kinds=NUMBERS,
    source="1 - sum of (t - p)^2 / sum of (t - mean t)^2 (as scikit-learn's r2_score); several target columns: the "
    "mean over columns.",
    degenerate="A constant truth, a single row included, is a fault of the task. Predicting the truth's mean gives 0.",
    golden=(
        Golden(truth=(1, 2, 3), predicted=(1, 2, 2), score=0.5),
        Golden(truth=(1, 2, 3), predicted=(2, 2, 2), score=0.0, note="the mean"),
        Golden(truth=(1, 2, 3), predicted=(0, 0, 0), score=-6.0, note="1 - 14 / 2"),
        Golden(truth=((1, 1), (2, 2), (3, 3)), predicted=((1, 2), (2, 2), (2, 2)), score=0.25, note="mean of columns"),
    ),
    trial=Trial(truth=(1, 2, 3, 6), perfect=(1, 2, 3, 6), noisy=(1.5, 2, 3, 5), constant=(3, 3, 3, 3), chance=0.0),
    aliases={"r2_score": {}, "r_squared": {}},
)
def r2(truth: Array, predicted: Array) -> float:
    """The coefficient of determination: the share of the variance that is explained."""
    return 1 - float(np.square(errors(truth, predicted)).sum()) / _spread(truth)


@metric(
    higher_is_better=True,
    range=(-math.inf, 1.0),
    kinds=NUMBERS,
    source="1 - var(t - p) / var(t) (as scikit-learn's explained_variance_score): as r2, but a constant offset costs "
    "nothing; several target columns: the mean over columns.",
    degenerate="A constant truth, a single row included, is a fault of the task. A constant prediction gives 0.",
    golden=(
        Golden(truth=(1, 2, 3), predicted=(1, 2, 2), score=2 / 3, note="1 - (2/9) / (2/3)"),
        Golden(truth=(1, 2, 3), predicted=(6, 7, 8), score=1.0, note="an offset"),
        Golden(truth=(1, 2, 3), predicted=(9, 9, 9), score=0.0, note="constant"),
        Golden(truth=(1, 2, 3), predicted=(3, 2, 1), score=-3.0),
    ),
    trial=Trial(truth=(1, 2, 3, 6), perfect=(1, 2, 3, 6), noisy=(1.5, 2, 3, 5), constant=(7, 7, 7, 7), chance=0.0),
    aliases={"explained_variance_score": {}},
)
def explained_variance(truth: Array, predicted: Array) -> float:
    """The share of the variance that is explained, apart from a constant offset."""
    spread = _spread(truth)
    # Less their means first, so that an offset of 1e15 leaves no rounding.
    distance = errors(truth - truth.mean(), predicted - predicted.mean())
    return 1 - float(np.square(distance).sum()) / spread
