"""Metrics of several labels a row, with a column of 0 and 1 for each label: F-measure, Jaccard, Hamming loss."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Literal, TypeAlias

import numpy as np

from openmle_env.errors import PackError
from openmle_env.graders.metrics.examples import Golden, Trial
from openmle_env.graders.metrics.parameters import Option
from openmle_env.graders.metrics.registry import metric
from openmle_env.graders.rows import Array

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from openmle_env.types import ColumnKind

Average: TypeAlias = Annotated[
    Literal["samples", "micro", "macro", "weighted"],
    Option("Over what the mean is taken: rows, all cells at once, labels, or labels by how often the truth has them."),
]
ZeroDivision: TypeAlias = Annotated[
    Literal["one", "zero", "skip"],
    Option(
        "What a row (for samples) or a label (for macro) without a 1 in truth and predictions is in the mean: 1, 0, or "
        "left out."
    ),
]

_KINDS: tuple[ColumnKind, ...] = ("label", "integer")
_AVERAGES = (
    "samples: the mean over the rows of the value of each row's cells; macro: the mean over the labels of the value of "
    "each column; weighted: mean weighted by the ones of each column in the truth; micro: the value of all cells at "
    "once. Sets of labels that are written in one cell have a metric of their own:"
)
_UNDEFINED = (
    "A row or a column without a 1 in truth and predictions has the value that zero_division says (scikit-learn's "
    "default there is 0). Answers without any 1 are a fault of the task; with average=samples they are only where "
    "zero_division=skip leaves all of their rows out. Integers other than 0 and 1 are refused."
)
_TRIAL = Trial(
    labels=("0", "1"),
    truth=((0, 1), (1, 0), (1, 1)),
    perfect=((0, 1), (1, 0), (1, 1)),
    noisy=((0, 1), (1, 0), (1, 0)),
    constant=((0, 1), (0, 1), (0, 1)),
)
_TRUTH = ((1, 1, 0, 0), (0, 1, 0, 0), (0, 0, 0, 0))
_PREDICTED = ((1, 0, 0, 0), (0, 1, 1, 0), (0, 0, 0, 0))
"""Right, true and predicted ones: 1, 2, 1 and 1, 1, 2 of the rows; 1, 1, 1 and 1, 2, 1 and 0, 0, 1 of the columns."""


def neither_0_nor_1(predicted: Array) -> Iterator[tuple[int, str]]:
    """Positions of rows that hold another number than 0 and 1, and the reason; shape (rows, labels)."""
    for row in np.flatnonzero(((predicted != 0) & (predicted != 1)).any(axis=1)).tolist():
        yield row, "a label is neither 0 nor 1"


@metric(
    higher_is_better=True,
    range=(0.0, 1.0),
    kinds=_KINDS,
    truth="binary",
    targets="columns",
    check=neither_0_nor_1,
    source="F = (1 + b^2) * TP / (b^2 * true ones + predicted ones) (van Rijsbergen 1979; scikit-learn's fbeta_score "
    f"for a multilabel indicator matrix). {_AVERAGES} multilabel_fbeta.",
    degenerate=_UNDEFINED,
    golden=(
        Golden(
            labels=("0", "1"),
            names=("cat", "dog", "eel", "fox"),
            truth=_TRUTH,
            predicted=_PREDICTED,
            score=(2 / 3 + 2 / 3 + 1) / 3,
            note="Rows 2/3 and 2/3; nothing in the third, which counts as 1.",
        ),
        *(
            Golden(
                labels=("0", "1"),
                truth=_TRUTH,
                predicted=_PREDICTED,
                parameters={"average": average, "zero_division": rule},
                score=score,
            )
            for average, rule, score in (
                ("samples", "zero", (2 / 3 + 2 / 3) / 3),
                ("samples", "skip", 2 / 3),
                ("micro", "one", 2 * 2 / 6),
                ("macro", "one", (1 + 2 / 3 + 0 + 1) / 4),
                ("macro", "zero", (1 + 2 / 3) / 4),
                ("macro", "skip", (1 + 2 / 3) / 3),
                ("weighted", "one", (1 + 2 * 2 / 3) / 3),
            )
        ),
        Golden(
            labels=("yes", "no"),
            truth=(("yes", "no"), ("1", "0")),
            predicted=(("yes", "yes"), ("no", "no")),
            parameters={"beta": 2, "average": "micro"},
            score=5 / (4 * 2 + 2),
            note="1 TP of 2 true and 2 predicted; a yes is a 1.",
        ),
    ),
    trial=_TRIAL,
)
def multilabel_columns_fbeta(
    truth: Array,
    predicted: Array,
    *,
    beta: Annotated[float, Option("How much recall weighs against precision.", low=0.001, high=1000)] = 1.0,
    average: Average = "samples",
    zero_division: ZeroDivision = "one",
) -> float:
    """The F-measure of predicted labels, one column of 0 and 1 for each."""
    square = beta * beta

    def size(_: Array, true: Array, found: Array) -> Array:
        return np.asarray((square * true + found) / (1 + square))

    return _averaged(truth, predicted, size, average, zero_division)


@metric(
    higher_is_better=True,
    range=(0.0, 1.0),
    kinds=_KINDS,
    truth="binary",
    targets="columns",
    check=neither_0_nor_1,
    source="TP / (true ones + predicted ones - TP) (Jaccard 1912; scikit-learn's jaccard_score for a multilabel "
    f"indicator matrix). {_AVERAGES} jaccard.",
    degenerate=_UNDEFINED,
    golden=(
        Golden(
            labels=("0", "1"),
            names=("cat", "dog", "eel", "fox"),
            truth=_TRUTH,
            predicted=_PREDICTED,
            score=(1 / 2 + 1 / 2 + 1) / 3,
            note="Rows 1/2 and 1/2; nothing in the third, which counts as 1.",
        ),
        *(
            Golden(
                labels=("0", "1"),
                truth=_TRUTH,
                predicted=_PREDICTED,
                parameters={"average": average, "zero_division": rule},
                score=score,
            )
            for average, rule, score in (
                ("samples", "skip", 1 / 2),
                ("micro", "one", 2 / 4),
                ("macro", "one", (1 + 1 / 2 + 0 + 1) / 4),
                ("macro", "zero", (1 + 1 / 2) / 4),
                ("weighted", "one", (1 + 2 * 1 / 2) / 3),
            )
        ),
    ),
    trial=_TRIAL,
)
def multilabel_columns_jaccard(
    truth: Array, predicted: Array, *, average: Average = "samples", zero_division: ZeroDivision = "one"
) -> float:
    """The overlap of predicted and true labels as a share of their union, one column of 0 and 1 for each label."""
    return _averaged(truth, predicted, lambda right, true, found: true + found - right, average, zero_division)


@metric(
    higher_is_better=False,
    range=(0.0, 1.0),
    kinds=_KINDS,
    targets="columns",
    source="Share of wrong cells over all rows and target columns, one column for each label (scikit-learn's "
    "hamming_loss). Where all columns of a row must be right at once, the metric is accuracy.",
    degenerate="Defined for any answers; of one column it is 1 - accuracy.",
    golden=(
        Golden(
            kind="label",
            labels=("0", "1"),
            truth=((0, 1, 0), (1, 1, 0)),
            predicted=((0, 1, 1), (0, 1, 0)),
            score=1 / 3,
            note="2 of 6.",
        ),
        Golden(kind="integer", truth=((5, 1), (6, 1)), predicted=((5, 1), (6, 1)), score=0.0),
        Golden(kind="integer", truth=(1, 1), predicted=(0, 0), score=1.0),
    ),
    trial=_TRIAL,
)
def hamming_loss(truth: Array, predicted: Array) -> float:
    """The share of wrong cells over all rows and target columns."""
    return float((truth != predicted).mean())


def _averaged(
    truth: Array, predicted: Array, size: Callable[[Array, Array, Array], Array], average: str, zero_division: str
) -> float:
    """The mean of right ones / size of right, true and predicted ones, which is 0 only where there is none of them.

    Raises:
        PackError: Nothing is true, and the average has no value for that.
    """
    if not truth.any() and (average != "samples" or zero_division == "skip"):
        raise PackError(f"The metric with average={average} is undefined where the truth holds no label.")
    axis = {"samples": 1, "micro": None}.get(average, 0)
    right, true, found = (
        np.atleast_1d(np.count_nonzero(ones, axis=axis)) for ones in (truth & predicted, truth, predicted)
    )
    sizes = size(right, true, found)
    held = sizes > 0
    values = np.where(held, right / np.where(held, sizes, 1), 0.0 if zero_division == "zero" else 1.0)
    if average == "weighted":
        return float((values * true).sum() / true.sum())
    return float((values[held] if zero_division == "skip" else values).mean())
