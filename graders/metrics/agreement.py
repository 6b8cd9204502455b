"""Metrics of predicted classes that are corrected for chance: Cohen's kappa and Matthews' correlation."""

from __future__ import annotations

import math
import re
from typing import Annotated, Literal

import numpy as np

from openmle_env.errors import PackError
from openmle_env.graders.metrics.examples import Golden, Trial
from openmle_env.graders.metrics.parameters import Option
from openmle_env.graders.metrics.registry import metric
from openmle_env.graders.rows import Array

_INTEGER = re.compile(r"[+-]?[0-9]{1,19}(?:\.0+)?")  # as long as an integer of 64 bits


@metric(
    higher_is_better=True,
    range=(-1.0, 1.0),
    kinds=("label", "integer", "text"),
    source="(c*s - sum of t_k*p_k) / sqrt((s^2 - sum of t_k^2) * (s^2 - sum of p_k^2)), with s rows, c of them right, "
    "t_k of class k and p_k predicted so (Gorodkin 2004; for two classes Matthews 1975; scikit-learn's "
    "matthews_corrcoef). Of several targets, the mean over the columns.",
    degenerate="Constant predictions score 0. A truth of one class is a fault of the task: there is nothing to "
    "correlate with.",
    golden=(
        Golden(kind="integer", truth=(1, 1, 0, 0), predicted=(1, 0, 0, 0), score=1 / math.sqrt(3)),
        Golden(kind="integer", truth=(1, 0, 1, 0, 1, 0), predicted=(0, 0, 0, 0, 0, 0), score=0.0),
        Golden(kind="label", labels=("a", "b"), truth=("a", "b"), predicted=("b", "a"), score=-1.0),
        Golden(
            kind="text",
            truth=("a", "b", "c"),
            predicted=("a", "b", "b"),
            score=3 / math.sqrt(6 * 4),
            note="c = 2, s = 3, t = (1, 1, 1), p = (1, 2, 0): (6 - 3) / sqrt((9 - 3) * (9 - 5)).",
        ),
    ),
    trial=Trial(
        kind="integer",
        truth=(0, 1, 2, 0, 1, 2),
        perfect=(0, 1, 2, 0, 1, 2),
        noisy=(0, 1, 2, 0, 1, 0),
        constant=(0, 0, 0, 0, 0, 0),
        chance=0.0,
    ),
    aliases={"matthews_corrcoef": {}, "matthews_correlation": {}, "phi_coefficient": {}},
)
def mcc(truth: Array, predicted: Array, *, classes: tuple[str, ...]) -> float:
    """Matthews' correlation of predicted and true classes."""
    true = np.bincount(truth, minlength=len(classes))
    found = np.bincount(predicted, minlength=len(classes))
    rows, right = len(truth), int((truth == predicted).sum())
    # Python integers: products of four counts do not fit into 64 bits.
    spread_true = rows * rows - int((true * true).sum())
    spread_found = rows * rows - int((found * found).sum())
    if not spread_true:
        raise PackError("Matthews' correlation is undefined where the truth holds one class only.")
    if not spread_found:
        return 0.0
    return (right * rows - int((true * found).sum())) / math.sqrt(spread_true * spread_found)


@metric(
    higher_is_better=True,
    range=(-1.0, 1.0),
    kinds=("integer", "label"),
    source="1 - observed / expected, where observed is the mean over the rows of d(truth, predicted), and expected "
    "the mean over all pairs of a true and a predicted value (Cohen 1960, 1968). d(a, b) = [a != b], |a - b| or (a - "
    "b)^2 for weights none, linear and quadratic. Distances are those of the integers, where all labels are integers, "
    "else those of the positions in the task's list of labels. Of several targets, the mean over the columns.",
    degenerate="Constant predictions score 0; where truth and predictions are one and the same constant, 1. Never is "
    "a distance the position among the values that happen to occur, as it is in scikit-learn's cohen_kappa_score when "
    "no labels are given; compat=mlebench does so.",
    golden=(
        Golden(
            kind="integer",
            truth=(0, 0, 1, 1),
            predicted=(0, 1, 1, 1),
            score=0.5,
            note="3/4 agree, and by chance 1/2 * 1/4 + 1/2 * 3/4 = 1/2.",
        ),
        Golden(kind="integer", truth=(3, 3), predicted=(3, 3), score=1.0, note="No variance, all right."),
        Golden(kind="integer", truth=(3, 3), predicted=(2, 2), score=0.0, note="No variance, all wrong."),
        Golden(
            kind="integer",
            truth=(0, 2, 4, 2),
            predicted=(0, 4, 4, 2),
            parameters={"weights": "quadratic"},
            score=0.8,
            note="Observed 4/4, expected 80/16.",
        ),
        Golden(
            kind="integer",
            truth=(0, 1, 4),
            predicted=(0, 4, 4),
            parameters={"weights": "quadratic"},
            score=40 / 67,
            note="Observed 9/3, expected 67/9: from 1 to 4 is 3, although no 2 and no 3 occur.",
        ),
        Golden(
            kind="integer",
            truth=(0, 1, 4),
            predicted=(0, 4, 4),
            parameters={"weights": "quadratic", "compat": "mlebench"},
            score=0.8,
            note="Values read as 0, 1, 2: observed 1/3, expected 15/9.",
        ),
        Golden(
            kind="integer",
            truth=(0, 1, 4),
            predicted=(0, 4, 4),
            parameters={"weights": "linear"},
            score=1 - 9 / 19,
            note="Observed 3/3, expected 19/9.",
        ),
        Golden(
            kind="label",
            labels=("low", "middle", "high"),
            truth=("low", "high"),
            predicted=("low", "middle"),
            parameters={"weights": "linear"},
            score=0.5,
            note="Observed 1/2, expected (0 + 1 + 2 + 1) / 4.",
        ),
        Golden(
            kind="label",
            labels=("4", "1", "0"),
            truth=("0", "1", "4"),
            predicted=("0", "4", "4"),
            parameters={"weights": "quadratic"},
            score=40 / 67,
            note="Labels that are integers keep their distances, in whatever order they are listed.",
        ),
    ),
    trial=Trial(
        kind="integer",
        truth=(0, 1, 2, 3, 4, 2),
        perfect=(0, 1, 2, 3, 4, 2),
        noisy=(0, 1, 2, 3, 3, 2),
        constant=(2, 2, 2, 2, 2, 2),
        chance=0.0,
        parameters={"weights": "quadratic"},
    ),
    ordered_by="weights",
    aliases={
        "cohen_kappa": {},
        "cohen_kappa_score": {},
        "qwk": {"weights": "quadratic"},
        "quadratic_weighted_kappa": {"weights": "quadratic"},
        "linear_weighted_kappa": {"weights": "linear"},
    },
)
def kappa(
    truth: Array,
    predicted: Array,
    *,
    classes: tuple[str, ...],
    weights: Annotated[
        Literal["none", "linear", "quadratic"], Option("How an error grows with its distance.")
    ] = "none",
    compat: Annotated[
        Literal["", "mlebench"], Option("mlebench: distances are positions among the values that occur.")
    ] = "",
) -> float:
    """Cohen's kappa: how much better than by chance predicted and true classes agree."""
    true = np.bincount(truth, minlength=len(classes))
    found = np.bincount(predicted, minlength=len(classes))
    if weights == "none":
        pairs = len(truth) ** 2
        apart = pairs - int((true * found).sum())  # exact, as all is in integers
        return 1 - len(truth) * int((truth != predicted).sum()) / apart if apart else 1.0
    values = _values(classes, int(truth[0]))
    if compat:
        occurs = true + found > 0
        values[occurs] = values[occurs].argsort().argsort()
    distances = np.abs(values[truth] - values[predicted])
    if weights == "linear":
        observed, expected = distances.mean(), _mean_distance(values, true, found)
    else:
        observed, expected = (distances**2).mean(), _mean_square(values, true, found)
    return float(1 - observed / expected) if expected > 0 else 1.0


def _values(classes: tuple[str, ...], origin: int) -> Array:
    """The place of each class on a line: its integer, or, unless all are integers, its position; one class is at 0.

    A class of the truth should be at 0: far from it, a double cannot tell neighbours apart.
    """
    if not all(_INTEGER.fullmatch(name) for name in classes):
        return np.arange(len(classes), dtype=np.float64)
    integers = [int(name.partition(".")[0]) for name in classes]
    return np.array([value - integers[origin] for value in integers], dtype=np.float64)


def _mean_distance(values: Array, true: Array, found: Array) -> float:
    """Mean of |a - b| over all pairs of a true and a predicted value: for each gap, the share of pairs across it."""
    order = np.argsort(values)
    below_true = np.cumsum(true[order])[:-1] / true.sum()
    below_found = np.cumsum(found[order])[:-1] / found.sum()
    across = below_true * (1 - below_found) + below_found * (1 - below_true)
    return float((np.diff(values[order]) * across).sum())


def _mean_square(values: Array, true: Array, found: Array) -> float:
    """Mean of (a - b)^2 over all pairs of a true and a predicted value: both variances and the means' distance."""
    mean_true, mean_found = (values * true).sum() / true.sum(), (values * found).sum() / found.sum()
    variance_true = ((values - mean_true) ** 2 * true).sum() / true.sum()
    variance_found = ((values - mean_found) ** 2 * found).sum() / found.sum()
    return float(variance_true + variance_found + (mean_true - mean_found) ** 2)
