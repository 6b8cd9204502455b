"""Metrics of rows of class probabilities: multiclass log loss and Brier score, Kullback-Leibler divergence."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import numpy as np

from openmle_env.errors import PackError
from openmle_env.graders.metrics.examples import Golden, Trial
from openmle_env.graders.metrics.parameters import AnswerColumn, Option
from openmle_env.graders.metrics.registry import metric
from openmle_env.graders.metrics.truth import class_codes, row_weights
from openmle_env.graders.rows import Array

if TYPE_CHECKING:
    from collections.abc import Iterator

SUM_TOLERANCE = 1e-6
"""How far the sum of a row of probabilities may lie from 1 where rows are not rescaled."""

_LN = {value: -float(np.log(value)) for value in (0.1, 0.2, 0.25, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9)}
"""Negative logarithms that the examples add up."""

_MACHINE_EPSILON = 2.0**-52
"""Where scikit-learn clips doubles."""


def unusable_rows(predicted: Array, rescale: bool = True) -> Iterator[tuple[int, str]]:
    """Positions of rows that are no distribution over classes, and why; ``predicted`` has shape (rows, classes)."""
    sums = predicted.sum(axis=1)
    for row in np.flatnonzero(sums == 0).tolist():
        yield row, "the probabilities of the row are all 0"
    if not rescale:
        for row in np.flatnonzero((sums != 0) & (np.abs(sums - 1) > SUM_TOLERANCE)).tolist():
            yield row, "the probabilities of the row do not add to 1"


@metric(
    higher_is_better=False,
    range=(0.0, np.inf),
    kinds=("probability",),
    truth="binary",
    targets="columns",
    arity=(2, 1_000_000),
    check=unusable_rows,
    source="Cross-entropy: -sum of w * ln(p of the true class) / sum of w. Each row is divided by its sum, then "
    "clipped to [clip, 1 - clip], as Kaggle's competitions do (clip 1e-15); scikit-learn clips at the machine epsilon, "
    "2.220446049250313e-16. With class_weights c: sum over classes of c * (mean over the rows of that class), divided "
    "by the sum of c (PLAsTiCC 2018); equal class weights give the balanced log loss.",
    degenerate="The classes are the target columns, so a class that no answer has is legal; class_weights leaves it "
    "out of both sums. Certain and wrong costs -ln(clip). A row of zeros cannot be rescaled and is refused.",
    golden=(
        Golden(
            names=("MWS", "EAP", "HPL"),
            truth=((0, 1, 0), (0, 0, 1), (1, 0, 0)),
            predicted=((0.1, 0.7, 0.2), (0.1, 0.1, 0.8), (0.4, 0.3, 0.3)),
            score=(_LN[0.7] + _LN[0.8] + _LN[0.4]) / 3,
            note="MLE-bench scores 0.49870307570903244 on this file (spooky author).",
        ),
        Golden(
            truth=((1, 0, 0), (0, 1, 0), (0, 0, 1)),
            predicted=((1, 0, 0), (1, 0, 0), (0, 0, 1)),
            score=11.512925464970229,
            note="-ln(1e-15) / 3; what is certain and right costs 1e-15 each.",
        ),
        Golden(
            truth=((1, 0, 0), (0, 1, 0), (0, 0, 1)),
            predicted=((1, 0, 0), (1, 0, 0), (0, 0, 1)),
            parameters={"clip": _MACHINE_EPSILON},
            score=12.014551129705717,
            note="What MLE-bench scores there, with scikit-learn's clip.",
        ),
        Golden(
            truth=((1, 0), (1, 0)),
            predicted=((0.4, 0.4), (0.2, 0.8)),
            score=(_LN[0.5] + _LN[0.2]) / 2,
            note="Rows are rescaled; no answer is of the second class.",
        ),
        Golden(
            names=("cat", "dog"),
            truth=((), ()),
            predicted=((0.9, 0.1), (0.4, 0.6)),
            parameters={"truth_column": "animal", "weight": "w"},
            answers={"animal": ("cat", "dog"), "w": (1, 3)},
            score=(_LN[0.9] + 3 * _LN[0.6]) / 4,
        ),
        Golden(
            truth=((1, 0, 0), (1, 0, 0), (0, 1, 0)),
            predicted=((0.5, 0.5, 0), (0.25, 0.5, 0.25), (0, 0.1, 0.9)),
            parameters={"class_weights": (1, 2, 7)},
            score=((_LN[0.5] + _LN[0.25]) / 2 + 2 * _LN[0.1]) / 3,
            note="The third class does not occur, so its weight of 7 does not either.",
        ),
    ),
    trial=Trial(
        truth=((1, 0, 0), (0, 1, 0), (0, 0, 1)),
        perfect=((1, 0, 0), (0, 1, 0), (0, 0, 1)),
        noisy=((0.6, 0.2, 0.2), (0.2, 0.7, 0.1), (0.3, 0.2, 0.5)),
        constant=((0.25, 0.25, 0.25),) * 3,
        chance=float(np.log(3)),
    ),
    aliases={
        "log_loss_multiclass": {},
        "mlogloss": {},
        "multiclass_logloss": {},
        "categorical_cross_entropy": {},
    },
)
def multiclass_log_loss(
    truth: Array | None,
    predicted: Array,
    *,
    clip: Annotated[float, Option("No probability counts as less than this.", above=0, high=0.1)] = 1e-15,
    rescale: Annotated[
        bool, Option("Divide each row by its sum; if false, a row that does not add to 1 is refused.")
    ] = True,
    class_weights: Annotated[
        tuple[float, ...], Option("Weight of each class, in the order of the target columns; none if empty.", low=0)
    ] = (),
    truth_column: Annotated[
        Array | None,
        AnswerColumn("Holds the true class, in place of a column for each.", kind="class", replaces_targets=True),
    ] = None,
    weight: Annotated[Array | None, AnswerColumn("Weight of each row.")] = None,
) -> float:
    """Log loss of a row of class probabilities, one column for each class."""
    codes = class_codes(truth, truth_column)
    weights = row_weights(weight, len(codes))
    chosen = np.take_along_axis(predicted, codes[:, np.newaxis], axis=1)[:, 0]
    losses = -np.log((chosen / predicted.sum(axis=1) if rescale else chosen).clip(clip, 1 - clip))
    if not class_weights:
        return float(np.average(losses, weights=weights))
    classes = predicted.shape[1]
    if len(class_weights) != classes:
        raise PackError(f"There are {len(class_weights)} class_weights for {classes} classes. State one for each.")
    sizes = np.bincount(codes, weights, minlength=classes)
    used = np.where(sizes > 0, class_weights, 0.0)
    if not used.any():
        raise PackError("The class_weights of all classes that occur are 0. State a weight above 0 for one of them.")
    means = np.bincount(codes, weights * losses, minlength=classes) / np.where(sizes > 0, sizes, 1.0)
    return float(np.average(means, weights=used))


@metric(
    higher_is_better=False,
    range=(0.0, 2.0),
    kinds=("probability",),
    truth="binary",
    targets="columns",
    arity=(2, 1_000_000),
    check=unusable_rows,
    source="Brier's original score (1950): the mean over rows of the sum over classes of (p - y)^2, from 0 to 2. Each "
    "row is divided by its sum first.",
    degenerate="A class that no answer has is legal. A row of zeros cannot be rescaled and is refused.",
    golden=(
        Golden(truth=((1, 0, 0), (0, 1, 0)), predicted=((0.5, 0.5, 0), (0, 1, 0)), score=0.25),
        Golden(truth=((1, 0), (1, 0)), predicted=((0, 1), (0, 0.5)), score=2.0, note="The second row is rescaled."),
        Golden(
            names=("a", "b"),
            truth=((), ()),
            predicted=((1, 0), (0.5, 0.5)),
            parameters={"truth_column": "letter", "weight": "w"},
            answers={"letter": ("a", "b"), "w": (3, 1)},
            score=0.125,
        ),
    ),
    trial=Trial(
        truth=((1, 0, 0), (0, 1, 0), (0, 0, 1)),
        perfect=((1, 0, 0), (0, 1, 0), (0, 0, 1)),
        noisy=((0.6, 0.2, 0.2), (0.2, 0.7, 0.1), (0.3, 0.2, 0.5)),
        constant=((0.25, 0.25, 0.25),) * 3,
        chance=2 / 3,
    ),
    aliases={"brier_multiclass": {}},
)
def multiclass_brier(
    truth: Array | None,
    predicted: Array,
    *,
    truth_column: Annotated[
        Array | None,
        AnswerColumn("Holds the true class, in place of a column for each.", kind="class", replaces_targets=True),
    ] = None,
    weight: Annotated[Array | None, AnswerColumn("Weight of each row.")] = None,
) -> float:
    """Brier score of a row of class probabilities, one column for each class; from 0 to 2."""
    codes = class_codes(truth, truth_column)
    errors = predicted / predicted.sum(axis=1, keepdims=True)
    errors[np.arange(len(codes)), codes] -= 1
    return float(np.average((errors**2).sum(axis=1), weights=row_weights(weight, len(codes))))


def _distributions(truth: Array) -> Array:
    """Each row of the answers divided by its sum; both of shape (rows, classes).

    Raises:
        PackError: A share is negative, or all of a row are 0.
    """
    largest = truth.max(axis=1, keepdims=True)
    if (truth < 0).any() or (largest == 0).any():
        raise PackError("A row of the answers is no distribution: a share is negative, or all are 0. Correct it.")
    scaled = truth / largest  # so that no sum overflows
    return np.asarray(scaled / scaled.sum(axis=1, keepdims=True))


@metric(
    higher_is_better=False,
    range=(0.0, np.inf),
    kinds=("probability",),
    truth="number",
    targets="columns",
    arity=(2, 1_000_000),
    check=unusable_rows,
    source="Kullback-Leibler divergence of the predicted distribution from the true one: the mean over rows of the sum "
    "over classes of t * ln(t / p), 0 where t is 0. Rows of both are divided by their sums (so votes can be the "
    "answers), and p is clipped to [clip, 1 - clip] (HMS Harmful Brain Activity Classification 2024).",
    degenerate="A prediction of 0 where the truth is not costs t * ln(t / clip). A row of zeros cannot be rescaled: "
    "in the submission it is refused, in the answers a fault of the task. What clipping takes below 0 is 0.",
    golden=(
        Golden(
            truth=((0.5, 0.5, 0), (1, 0, 0)),
            predicted=((0.25, 0.25, 0.5), (0.5, 0.25, 0.25)),
            score=float(np.log(2)),
        ),
        Golden(
            truth=((3, 1), (1, 3)),
            predicted=((0.5, 0.5), (0.25, 0.75)),
            score=(0.75 * float(np.log(1.5)) - 0.25 * _LN[0.5]) / 2,
            note="Votes, 3/4 and 1/4.",
        ),
        Golden(truth=((1, 0),), predicted=((0, 1),), score=34.538776394910684, note="-ln(1e-15)."),
        Golden(
            truth=((0.5, 0.5),),
            predicted=((0, 1),),
            parameters={"clip": 0.01},
            score=float(np.log(50) + np.log(50 / 99)) / 2,
        ),
        Golden(
            truth=((1, 0), (1, 0)),
            predicted=((0.5, 0.5), (0.25, 0.75)),
            parameters={"weight": "w"},
            answers={"w": (1, 3)},
            score=(_LN[0.5] + 3 * _LN[0.25]) / 4,
        ),
    ),
    trial=Trial(
        truth=((0.75, 0.25), (0.25, 0.75), (0.5, 0.5)),
        perfect=((0.75, 0.25), (0.25, 0.75), (0.5, 0.5)),
        noisy=((0.7, 0.3), (0.3, 0.7), (0.6, 0.4)),
        constant=((0.5, 0.5),) * 3,
    ),
    aliases={"kullback_leibler": {}},
)
def kl_divergence(
    truth: Array,
    predicted: Array,
    *,
    clip: Annotated[float, Option("No probability counts as less than this.", low=1e-300, high=0.1)] = 1e-15,
    weight: Annotated[Array | None, AnswerColumn("Weight of each row.")] = None,
) -> float:
    """Kullback-Leibler divergence of rows of class probabilities from the true distributions."""
    shares = _distributions(truth)
    clipped = (predicted / predicted.sum(axis=1, keepdims=True)).clip(clip, 1 - clip)
    terms = np.where(shares > 0, shares * np.log(np.where(shares > 0, shares, 1.0) / clipped), 0.0)
    return max(0.0, float(np.average(terms.sum(axis=1), weights=row_weights(weight, len(shares)))))
