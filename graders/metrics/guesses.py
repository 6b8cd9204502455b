"""Metrics of several guesses for one class: top-k accuracy over scores, top-k error over lists."""

from __future__ import annotations

from typing import Annotated

import numpy as np

from openmle_env.errors import PackError
from openmle_env.graders.metrics.examples import Golden, Trial
from openmle_env.graders.metrics.parameters import AnswerColumn, Option
from openmle_env.graders.metrics.registry import metric
from openmle_env.graders.metrics.tokens import MAX_CHARACTERS, too_long
from openmle_env.graders.metrics.truth import class_codes
from openmle_env.graders.rows import Array

_SCORES = ((0.5, 0.2, 0.3), (0.3, 0.4, 0.2), (0.2, 0.4, 0.3), (0.7, 0.2, 0.1))
_TRUTH = ((1, 0, 0), (0, 1, 0), (0, 0, 1), (0, 0, 1))


@metric(
    higher_is_better=True,
    range=(0.0, 1.0),
    kinds=("probability", "number"),
    truth="binary",
    targets="columns",
    arity=(2, 1_000_000),
    source="Share of rows whose true class is among the k columns of the highest scores (scikit-learn's "
    "top_k_accuracy_score). The truth is 1 in the column of the class and 0 in all others, or the name of that column "
    "in one column of the answers, which truth_column names.",
    degenerate="Ties count as the mean over their orders: with g columns above the true one and e equal to it, itself "
    "included, a row scores (k - g) / e, between 0 and 1, so that a constant scores k / classes. A k that is not less "
    "than the number of classes, or a row of the truth without exactly one 1, is a fault of the task.",
    golden=(
        Golden(truth=_TRUTH, predicted=_SCORES, score=0.5, note="The true class is first in the first two rows."),
        Golden(truth=_TRUTH, predicted=_SCORES, parameters={"k": 2}, score=0.75),
        Golden(
            truth=_TRUTH,
            predicted=_SCORES,
            names=("cat", "dog", "eel"),
            parameters={"k": 2, "truth_column": "animal"},
            answers={"animal": ("cat", "dog", "eel", "eel")},
            score=0.75,
        ),
        Golden(truth=_TRUTH, predicted=((0.2, 0.2, 0.2),) * 4, parameters={"k": 2}, score=2 / 3, note="All tied."),
        Golden(
            kind="number",
            truth=((1, 0, 0), (0, 1, 0)),
            predicted=((-1, 3, -1), (2, 2, -5)),
            parameters={"k": 2},
            score=0.75,
            note="Place 2 shared by two columns: 1/2; both within the first two: 1.",
        ),
    ),
    trial=Trial(
        truth=((1, 0, 0), (0, 1, 0), (0, 0, 1)),
        perfect=((1, 0, 0), (0, 1, 0), (0, 0, 1)),
        noisy=((1, 0, 0), (0, 1, 0), (0.5, 0.3, 0.2)),
        constant=((0.5, 0.5, 0.5),) * 3,
        chance=1 / 3,
    ),
    aliases={
        "top_k_accuracy_score": {"k": 2},  # its default
        "top1_accuracy": {"k": 1},
        "top3_accuracy": {"k": 3},
        "top5_accuracy": {"k": 5},
    },
)
def top_k_accuracy(
    truth: Array | None,
    predicted: Array,
    *,
    k: Annotated[int, Option("How many of the highest scores count.", low=1)] = 1,
    truth_column: Annotated[
        Array | None,
        AnswerColumn("The true class of each row, as the name of its column.", kind="class", replaces_targets=True),
    ] = None,
) -> float:
    """The share of rows whose true class is among the k classes of the highest scores."""
    rows, count = predicted.shape
    if k >= count:
        raise PackError(f"Top-k accuracy with k={k} of {count} classes is 1 whatever is predicted. Choose a smaller k.")
    codes = class_codes(truth, truth_column)
    own = predicted[np.arange(rows), codes][:, np.newaxis]
    above, equal = (predicted > own).sum(axis=1), (predicted == own).sum(axis=1)
    return float(np.clip((k - above) / equal, 0.0, 1.0).mean())


@metric(
    higher_is_better=False,
    range=(0.0, 1.0),
    kinds=("text",),
    truth="text",
    source="Share of rows whose true label is not among the first k of the labels that were predicted, which stand in "
    "one cell, the best guess first, with blanks between them (the error of the ImageNet and iNaturalist challenges).",
    degenerate="A blank cell is no guess, and wrong. A label that is repeated takes the place of another guess. "
    "Labels are compared as they are written: 7 is not 07. A truth that is not exactly one label is a fault of the "
    f"task. Cells of more than {MAX_CHARACTERS:,} characters are refused.",
    golden=(
        Golden(truth=("5", "6", "7"), predicted=("5 6", "7 6", "7"), score=1 / 3, note="6 is guessed second."),
        Golden(truth=("5", "6", "7"), predicted=("5 6", "7 6", "7"), parameters={"k": 2}, score=0.0),
        Golden(
            truth=("5", "6"), predicted=("", "7 7 6"), parameters={"k": 2}, score=1.0, note="No guess; a wasted guess."
        ),
        Golden(truth=("a",), predicted=("b",), score=1.0),
    ),
    trial=Trial(
        truth=("a", "b", "c"),
        perfect=("a", "b", "c"),
        noisy=("a b", "b c", "a b"),
        constant=("a b", "a b", "a b"),
        chance=2 / 3,
    ),
    aliases={"top1_error": {"k": 1}, "top5_error": {"k": 5}},
    check=too_long,
)
def top_k_error(
    truth: Array, predicted: Array, *, k: Annotated[int, Option("How many guesses count.", low=1)] = 1
) -> float:
    """The share of rows whose true label is not among the first k guesses."""
    wrong = 0
    for true, found in zip(truth, predicted, strict=True):
        label = true.split(maxsplit=1)
        if len(label) != 1:
            raise PackError("The truth of top-k error should be one label in each row. Correct the answers.")
        wrong += label[0] not in found.split(maxsplit=k)[:k]
    return wrong / len(truth)
