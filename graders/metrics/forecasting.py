"""The mean absolute scaled error of forecasts, and the scale: the error of a naive forecast of the past."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Annotated, Literal

import numpy as np

from openmle_env.errors import PackError, UsageError
from openmle_env.graders.metrics.examples import Golden, Trial
from openmle_env.graders.metrics.parameters import AnswerColumn, Option
from openmle_env.graders.metrics.registry import metric
from openmle_env.graders.metrics.row_means import SMALLEST, errors, group_codes, group_means, needed
from openmle_env.graders.rows import Array

if TYPE_CHECKING:
    from collections.abc import Sequence

ZERO_SCALE = "A series of scale 0: a fault of the task, or left out."


def naive_scale(history: Sequence[float] | Array, *, season: int = 1, squared: bool = True) -> float:
    """The mean error of the naive forecast (the value of one season before) within a series' past.

    For a pack's preparation, which writes it to the answers: squared for `wrmsse`, absolute for `mase`. Values before
    the first that is not 0 are left out: the article was not yet sold, and to forecast that is no merit (M5
    competition, guide for competitors, 2020). A series that is all 0, or shows one season at most from its first other
    value on, has the scale 0, as has a flat one; the metrics say what they do with it.

    Args:
        history: The training values of one series, in the order of time; shape (times,).
        season: How many steps back the naive forecast looks.
        squared: Whether errors are squared, or taken without their sign.

    Returns:
        The scale: at least 0, in the unit of the values, or its square.

    Raises:
        UsageError: The history is not longer than one season, or holds what is not a finite number.

    >>> naive_scale([0, 0, 2, 4, 1])
    6.5
    >>> naive_scale([0, 0, 0, 5, 5, 5])
    0.0
    """
    values = np.asarray(history, dtype=np.float64)
    if season < 1 or values.ndim != 1 or len(values) <= season:
        raise UsageError(
            f"A naive scale needs one series longer than its season, which is at least 1; "
            f"got an array of shape {values.shape} and season {season}."
        )
    if not np.isfinite(values).all():
        raise UsageError("The history of a series holds NaN or infinity; fill in the missing values first.")
    sold = np.flatnonzero(values)
    values = values[sold[0] :] if len(sold) else values[:0]
    if len(values) <= season:
        return 0.0
    steps = values[season:] - values[:-season]
    return float((np.square(steps) if squared else np.abs(steps)).mean())


def usable_scales(scale: Array, counted: Array, zero_scale: str) -> Array:
    """Which entries have a scale that can be divided by; all arrays of shape (entries,), bool but for ``scale``.

    Raises:
        PackError: A scale is negative, or 0 among those that are counted (unless they are to be skipped), or all are.
    """
    if (scale < 0).any():
        raise PackError("A scale is negative: it is a mean of absolute or squared errors.")
    positive = scale >= SMALLEST
    if zero_scale == "refuse" and (counted & ~positive).any():
        raise PackError("The scale of a series is 0: set zero_scale=skip, or leave the series out of the task.")
    if not (counted & positive).any():
        raise PackError("Every scale is 0: the metric is undefined. Choose another one.")
    return np.asarray(positive)


@metric(
    higher_is_better=False,
    range=(0.0, math.inf),
    kinds=("number", "integer"),
    targets="columns",
    source="Mean over rows (and columns, if there is one for each step) of |p - t| / scale, scale being the mean "
    "absolute error of the naive forecast within the training part of the row's series (Hyndman and Koehler 2006; "
    "naive_scale(history, squared=False) computes it, from the first value that is not 0). With series, the mean over "
    "series of each one's mean.",
    degenerate="A scale of 0 (a flat series) is a fault of the task, or left out by zero_scale=skip; all of them "
    "left out is a fault of the task.",
    golden=(
        Golden(truth=(1, 5), predicted=(3, 5), parameters={"scale": "s"}, answers={"s": (4, 1)}, score=0.25),
        Golden(
            truth=(1, 1, 1),
            predicted=(2, 3, 4),
            parameters={"scale": "s", "series": "name"},
            answers={"s": (1, 1, 2), "name": ("a", "a", "b")},
            score=1.5,
            note="1.5 of a, 1.5 of b",
        ),
        Golden(
            truth=(1, 5),
            predicted=(3, 9),
            parameters={"scale": "s", "zero_scale": "skip"},
            answers={"s": (4, 0)},
            score=0.5,
            note="the second is left out",
        ),
        Golden(
            truth=((1, 2), (5, 5)),
            predicted=((2, 2), (5, 9)),
            parameters={"scale": "s"},
            answers={"s": (1, 2)},
            score=0.75,
            note="two steps of two series",
        ),
    ),
    trial=Trial(
        truth=(1, 2, 3, 6),
        perfect=(1, 2, 3, 6),
        noisy=(1.5, 2, 3, 5),
        constant=(3, 3, 3, 3),
        parameters={"scale": "s"},
        answers={"s": (1, 1, 2, 2)},
    ),
    aliases={"mean_absolute_scaled_error": {}},
)
def mase(
    truth: Array,
    predicted: Array,
    *,
    scale: Annotated[
        Array | None, AnswerColumn("Mean absolute naive error of the row's series in training.", needed=True)
    ] = None,
    series: Annotated[Array | None, AnswerColumn("The series of each row.", kind="text")] = None,
    zero_scale: Annotated[Literal["refuse", "skip"], Option(ZERO_SCALE)] = "refuse",
) -> float:
    """The mean absolute error, relative to that of a naive forecast in training."""
    sizes = needed(scale, "scale")
    kept = usable_scales(sizes, np.ones(len(sizes), dtype=bool), zero_scale)
    scaled = np.abs(errors(truth[kept], predicted[kept])).mean(axis=1) / sizes[kept]
    return float((scaled if series is None else group_means(scaled, group_codes(series[kept]))).mean())
