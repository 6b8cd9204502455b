"""Weighted root mean squared scaled errors of forecasts: of series, and of the sums of a hierarchy."""

from __future__ import annotations

import math
from typing import Annotated, Literal

import numpy as np

from openmle_env.errors import PackError
from openmle_env.graders.metrics.examples import Golden, Trial
from openmle_env.graders.metrics.forecasting import ZERO_SCALE, usable_scales
from openmle_env.graders.metrics.parameters import AnswerColumn, Option
from openmle_env.graders.metrics.registry import metric
from openmle_env.graders.metrics.row_means import errors, group_codes, group_means, needed
from openmle_env.graders.rows import Array


@metric(
    higher_is_better=False,
    range=(0.0, math.inf),
    kinds=("number", "integer"),
    targets="columns",
    source="For each series, RMSSE = sqrt(mean of (p - t)^2 / scale), scale being the mean squared error of the naive "
    "forecast in training, from the first value that is not 0 (naive_scale computes it); in each level, the sum of "
    "weight * RMSSE, with weights that add to 1; then the mean over levels (M5 accuracy competition, Makridakis et al. "
    "2022). A series' steps are its rows, or the target columns of its row (M5's F1 to F28), or both. Aggregated "
    "series are rows of their own, with the name of their level (for sums of rows, "
    "see hierarchical_wrmsse). Weights are divided by their sum in each level, so "
    "that they add to 1 in a part of the answers as well.",
    degenerate="A series of scale 0 and weight 0 counts nothing (never sold in training); one of scale 0 with a weight "
    "is a fault of the task, or left out by zero_scale=skip with its weight given to the others. A level whose weights "
    "add to 0 is a fault of the task, as are different scales or weights in one series.",
    golden=(
        Golden(
            truth=(0, 0, 0, 0),
            predicted=(2, -2, 3, 3),
            parameters={"series": "name", "scale": "s", "weight": "w"},
            answers={"name": ("a", "a", "b", "b"), "s": (4, 4, 1, 1), "w": (0.75, 0.75, 0.25, 0.25)},
            score=0.75 * 1 + 0.25 * 3,
        ),
        Golden(
            truth=((0, 0), (0, 0), (0, 0)),
            predicted=((2, -2), (3, 3), (0, 3)),
            parameters={"scale": "s", "weight": "w", "level": "level"},
            answers={"s": (4, 1, 9), "w": (0.75, 0.25, 1), "level": ("shop", "shop", "total")},
            score=(1.5 + math.sqrt(0.5)) / 2,
            note="steps in columns, two levels",
        ),
        Golden(
            truth=(0, 0, 0),
            predicted=(1, 3, 99),
            parameters={"scale": "s", "weight": "w"},
            answers={"s": (1, 1, 0), "w": (6, 2, 0)},
            score=1.5,
            note="weights are divided by 8; the last was never sold",
        ),
        Golden(
            truth=(0, 0, 0),
            predicted=(1, 3, 99),
            parameters={"scale": "s", "weight": "w", "zero_scale": "skip"},
            answers={"s": (1, 1, 0), "w": (0.5, 0.25, 0.25)},
            score=(0.5 * 1 + 0.25 * 3) / 0.75,
        ),
    ),
    trial=Trial(
        truth=(1, 2, 3, 6),
        perfect=(1, 2, 3, 6),
        noisy=(1.5, 2, 3, 5),
        constant=(3, 3, 3, 3),
        parameters={"series": "name", "scale": "s", "weight": "w"},
        answers={"name": ("a", "a", "b", "b"), "s": (1, 1, 2, 2), "w": (0.25, 0.25, 0.75, 0.75)},
    ),
    aliases={"weighted_root_mean_squared_scaled_error": {}},
)
def wrmsse(
    truth: Array,
    predicted: Array,
    *,
    scale: Annotated[
        Array | None, AnswerColumn("Mean squared naive error of the row's series in training.", needed=True)
    ] = None,
    weight: Annotated[Array | None, AnswerColumn("Weight of the row's series in its level.", needed=True)] = None,
    series: Annotated[
        Array | None, AnswerColumn("The series of each row; each row is one, if left out.", kind="text")
    ] = None,
    level: Annotated[Array | None, AnswerColumn("The level of the row's series.", kind="text")] = None,
    zero_scale: Annotated[Literal["refuse", "skip"], Option(ZERO_SCALE)] = "refuse",
) -> float:
    """The weighted mean over series of the root of the mean squared error, relative to a naive forecast's."""
    sizes, weights = needed(scale, "scale"), needed(weight, "weight")
    count = len(sizes)
    levels = np.zeros(count, dtype=np.int64) if level is None else group_codes(level)
    names = np.arange(count) if series is None else group_codes(series)
    # The same name in another level is another series.
    _, first, member = np.unique(levels * (int(names.max()) + 1) + names, return_index=True, return_inverse=True)
    squares = group_means(np.square(errors(truth, predicted)).mean(axis=1), member)
    return _mean_of_levels(
        squares, _one_each(sizes, first, member), _one_each(weights, first, member), levels[first], zero_scale
    )


@metric(
    higher_is_better=False,
    range=(0.0, math.inf),
    kinds=("number", "integer"),
    targets="columns",
    source="wrmsse where the rows are the lowest series only, one row each with one target column for each step, and "
    "the series of all levels are sums of rows, as in the M5 accuracy competition (30,490 rows, 12 levels): for each "
    "level, a column of the answers says to which of its series a row is added, and two more give that series' scale "
    "and weight in the level. The lowest level is listed like the others.",
    degenerate="As wrmsse. The three lists are of equal length, or it is a fault of the task. All rows of a series are "
    "to be in one part of the answers: split these by a column, and name the series of either part differently.",
    golden=(
        Golden(
            truth=((0, 0), (0, 0)),
            predicted=((3, 0), (-3, 4)),
            parameters={"groups": ("item", "total"), "scales": ("s1", "s2"), "weights": ("w1", "w2")},
            answers={
                "item": ("a", "b"),
                "total": ("all", "all"),
                "s1": (4.5, 12.5),
                "s2": (2, 2),
                "w1": (0.75, 0.25),
                "w2": (1, 1),
            },
            score=((0.75 + 0.25) + 2) / 2,
            note="items: 9/2 / 4.5 and 25/2 / 12.5; total: errors 0 and 4, 16/2 / 2",
        ),
        Golden(
            truth=((0,), (0,)),
            predicted=((3,), (-3,)),
            parameters={"groups": "total", "scales": "s", "weights": "w"},
            answers={"total": ("all", "all"), "s": (1, 1), "w": (1, 1)},
            score=0,
            note="errors that cancel in the only sum",
        ),
        Golden(
            truth=((0,), (0,)),
            predicted=((3,), (9,)),
            parameters={"groups": "item", "scales": "s", "weights": "w"},
            answers={"item": ("a", "b"), "s": (1, 0), "w": (0.5, 0)},
            score=3,
            note="the second was never sold",
        ),
    ),
    trial=Trial(
        truth=((1, 2), (3, 6), (2, 2)),
        perfect=((1, 2), (3, 6), (2, 2)),
        noisy=((1.5, 2), (3, 5), (2, 2)),
        constant=((3, 3), (3, 3), (3, 3)),
        parameters={"groups": ("item", "shop"), "scales": ("s1", "s2"), "weights": ("w1", "w2")},
        answers={
            "item": ("a", "b", "c"),
            "shop": ("x", "x", "y"),
            "s1": (1, 1, 2),
            "s2": (3, 3, 2),
            "w1": (0.25, 0.5, 0.25),
            "w2": (0.75, 0.75, 0.25),
        },
    ),
    aliases={"m5_accuracy": {}},
)
def hierarchical_wrmsse(
    truth: Array,
    predicted: Array,
    *,
    groups: Annotated[
        Array | None, AnswerColumn("For each level, the series of each row.", kind="text", many=True, needed=True)
    ] = None,
    scales: Annotated[
        Array | None,
        AnswerColumn("For each level, the mean squared naive error of that series.", many=True, needed=True),
    ] = None,
    weights: Annotated[
        Array | None, AnswerColumn("For each level, the weight of that series.", many=True, needed=True)
    ] = None,
    zero_scale: Annotated[Literal["refuse", "skip"], Option(ZERO_SCALE)] = "refuse",
) -> float:
    """The weighted root mean squared scaled error of forecasts and of their sums, over the levels of a hierarchy."""
    named, sizes, shares = needed(groups, "groups"), needed(scales, "scales"), needed(weights, "weights")
    depth = named.shape[1]
    if sizes.shape[1] != depth or shares.shape[1] != depth:
        raise PackError(
            f"There are {depth} groups, {sizes.shape[1]} scales and {shares.shape[1]} weights: name one column of each "
            "for each level."
        )
    distance = errors(truth, predicted)
    found: list[tuple[Array, Array, Array, Array]] = []
    for place in range(depth):
        member = group_codes(named[:, place])
        first = np.unique(member, return_index=True)[1]
        # The error of a sum is the sum of errors.
        sums = np.stack([np.bincount(member, column) for column in distance.T], axis=1)
        found.append(
            (
                np.square(sums).mean(axis=1),
                _one_each(sizes[:, place], first, member),
                _one_each(shares[:, place], first, member),
                np.full(len(first), place),
            )
        )
    squares, scale, weight, levels = (np.concatenate(parts) for parts in zip(*found, strict=True))
    return _mean_of_levels(squares, scale, weight, levels, zero_scale)


def _one_each(values: Array, first: Array, member: Array) -> Array:
    """The value of each series, which all of its rows share."""
    if (values != values[first][member]).any():
        raise PackError("The rows of one series have different scales or weights: give each series one of both.")
    return np.asarray(values[first])


def _mean_of_levels(squares: Array, scale: Array, weight: Array, levels: Array, zero_scale: str) -> float:
    """WRMSSE of each level, averaged; all arrays of shape (series,), ``squares`` the mean squared errors."""
    if (weight < 0).any():
        raise PackError("The weight of a series is negative.")
    kept = usable_scales(scale, weight > 0, zero_scale)
    used = np.where(kept, weight, 0.0)
    largest = np.zeros(int(levels.max()) + 1)
    np.maximum.at(largest, levels, used)
    if not (largest > 0).all():
        raise PackError("The weights of a level add to 0: leave the level out, or give its series weights.")
    used = used / largest[levels]  # so that no sum overflows or vanishes
    scaled = np.sqrt(squares) / np.sqrt(np.where(kept, scale, 1.0))
    return float((np.bincount(levels, used * scaled) / np.bincount(levels, used)).mean())
