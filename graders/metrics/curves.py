"""Metrics of how scores rank the rows of one class above those of the other: ROC AUC, average precision, Gini, KS."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal

import numpy as np

from openmle_env.errors import PackError
from openmle_env.graders.metrics.examples import Golden, Trial
from openmle_env.graders.metrics.parameters import AnswerColumn, Option
from openmle_env.graders.metrics.rank_counts import average_ranks
from openmle_env.graders.metrics.registry import metric
from openmle_env.graders.metrics.truth import class_codes, row_weights
from openmle_env.graders.rows import Array

Undefined = Literal["refuse", "skip"]


@dataclass(frozen=True, slots=True)
class Thresholds:
    """The weight of each class at each distinct score, the highest score first; arrays of shape (distinct scores,)."""

    positive: Array
    negative: Array

    @classmethod
    def of(cls, truth: Array, scores: Array, weights: Array) -> Thresholds:
        """Equal scores become one threshold, so that ties favour nobody. All of shape (rows,), truth 0 or 1."""
        order = np.argsort(-scores)
        return cls.of_sorted(truth[order], scores[order], weights[order])

    @classmethod
    def of_sorted(cls, truth: Array, scores: Array, weights: Array) -> Thresholds:
        """As `of`, for rows that stand from the highest score to the lowest, at least one."""
        starts = np.concatenate(([0], np.flatnonzero(scores[1:] != scores[:-1]) + 1))
        ones = truth == 1
        return cls(
            np.add.reduceat(np.where(ones, weights, 0.0), starts),
            np.add.reduceat(np.where(ones, 0.0, weights), starts),
        )

    def auc(self) -> float | None:
        """The area under the ROC curve; None where there is one class only."""
        positives, negatives = self.positive.sum(), self.negative.sum()
        if not positives or not negatives:
            return None
        # A positive row beats the negative ones below it, and half of those at its own score.
        below = negatives - self.negative.cumsum()
        return float((self.positive * (below + self.negative / 2)).sum() / (positives * negatives))

    def average_precision(self) -> float | None:
        """The sum of precision times the step in recall; None where no row is positive."""
        found = self.positive.cumsum()
        if not found[-1]:
            return None
        # A threshold at which only rows of weight 0 stand steps nowhere; its precision does not matter.
        retrieved = np.maximum(found + self.negative.cumsum(), np.finfo(np.float64).tiny)
        return float((self.positive * found / retrieved).sum() / found[-1])


def mean_defined(values: list[float | None], undefined: Undefined, why: str) -> float:
    """The mean over columns.

    Raises:
        PackError: It is undefined on a column that may not be skipped, or on all.
    """
    defined = [value for value in values if value is not None]
    if not defined or (undefined == "refuse" and len(defined) < len(values)):
        which = next(position for position, value in enumerate(values, 1) if value is None)
        hint = "" if len(values) == 1 else " State undefined=skip to leave such columns out, for every submission."
        raise PackError(f"Target column {which} of {len(values)}: {why} Divide the answers in another way.{hint}")
    return float(np.mean(defined))


_ONE_CLASS = "the answers that are scored hold one class only, or one class of weight 0."
_NO_POSITIVE = "none of the answers that are scored is a 1, or none of a weight above 0."
_SKIP = "Whether a column on whose answers it is undefined is a fault of the task, or left out of the mean."
_BINARY_TRIAL = Trial(
    truth=(0, 1, 0, 1),
    perfect=(0.1, 0.8, 0.2, 0.9),
    noisy=(0.1, 0.8, 0.7, 0.6),
    constant=(0.3, 0.3, 0.3, 0.3),
    chance=0.5,
)


@metric(
    higher_is_better=True,
    range=(0.0, 1.0),
    kinds=("number", "probability"),
    truth="binary",
    targets="columns",
    source="Area under the ROC curve: the share of pairs of a 1 and a 0 in which the 1 has the higher score, pairs of "
    "equal scores counting half (Mann-Whitney U; Hanley and McNeil 1982), each pair weighing w_i * w_j. Several "
    "columns: the mean over them. As scikit-learn's roc_auc_score, where that is defined.",
    degenerate="Answers of one class are a fault of the task, or left out by undefined=skip. A constant scores 0.5.",
    golden=(
        Golden(truth=(0, 1, 0, 1, 1, 0), predicted=(0.1, 0.9, 0.4, 0.35, 0.8, 0.2), score=8 / 9, note="8 of 9 pairs."),
        Golden(truth=(0, 1, 1), predicted=(2, 2, 5), score=0.75, note="One tie, half a pair. Any numbers do."),
        Golden(truth=(0, 1, 0, 1), predicted=(7, 7, 7, 7), score=0.5),
        Golden(truth=(0, 1), predicted=(1e308, -1e308), score=0.0),
        Golden(
            truth=(0, 0, 1),
            predicted=(0.1, 0.9, 0.5),
            parameters={"weight": "w"},
            answers={"w": (3, 1, 2)},
            score=0.75,
        ),
        Golden(
            truth=((0, 1, 0), (1, 0, 0)),
            predicted=((0.1, 0.2, 0.3), (0.5, 0.3, 0.3)),
            parameters={"undefined": "skip"},
            score=0.5,
            note="The mean of 1 and 0; the third column has one class.",
        ),
    ),
    trial=_BINARY_TRIAL,
    aliases={
        "auc": {},
        "auroc": {},
        "roc_auc_score": {},
        "mean_columnwise_auc": {},
    },
)
def roc_auc(
    truth: Array,
    predicted: Array,
    *,
    undefined: Annotated[Undefined, Option(_SKIP)] = "refuse",
    weight: Annotated[Array | None, AnswerColumn("Weight of each row.")] = None,
) -> float:
    """Area under the ROC curve of the scores of a 1; the mean over columns where there are several."""
    weights = row_weights(weight, len(truth))
    values = [Thresholds.of(truth[:, i], predicted[:, i], weights).auc() for i in range(truth.shape[1])]
    return mean_defined(values, undefined, _ONE_CLASS)


@metric(
    higher_is_better=True,
    range=(0.0, 1.0),
    kinds=("number", "probability"),
    truth="binary",
    targets="columns",
    arity=(2, 1_000_000),
    source="Multiclass ROC AUC, one class against the rest (Provost and Domingos 2000): the area under the ROC curve "
    "of each class's column, averaged over classes (macro) or with each class's share of the answers (weighted). As "
    "scikit-learn's roc_auc_score(multi_class='ovr'), without its demand that rows add to 1.",
    degenerate="A class that no answer has, or all have, is a fault of the task, or left out by undefined=skip. A "
    "constant scores 0.5.",
    golden=(
        Golden(
            truth=((1, 0, 0), (0, 1, 0), (0, 0, 1), (1, 0, 0)),
            predicted=((0.5, 0.3, 0.2), (0.6, 0.3, 0.1), (0.2, 0.2, 0.6), (0.7, 0.1, 0.2)),
            score=(3 / 4 + 5 / 6 + 1) / 3,
            note="First class: 3 of 4 pairs; second: 2 of 3 and one tie; third: all.",
        ),
        Golden(
            names=("a", "b", "c"),
            truth=(),
            predicted=((0.5, 0.3, 0.2), (0.6, 0.3, 0.1), (0.2, 0.2, 0.6), (0.7, 0.1, 0.2)),
            parameters={"truth_column": "letter", "average": "weighted"},
            answers={"letter": ("a", "b", "c", "a")},
            score=(2 * 3 / 4 + 5 / 6 + 1) / 4,
        ),
        Golden(
            names=("a", "b", "c"),
            truth=(),
            predicted=((5, 3, 9), (1, 4, 9), (2, 2, 9)),
            parameters={"truth_column": "letter", "undefined": "skip"},
            answers={"letter": ("a", "b", "b")},
            score=0.75,
            note="The first class scores 1, the second 0.5; the third does not occur.",
        ),
    ),
    trial=Trial(
        truth=((1, 0, 0), (0, 1, 0), (0, 0, 1), (1, 0, 0)),
        perfect=((1, 0, 0), (0, 1, 0), (0, 0, 1), (1, 0, 0)),
        noisy=((0.5, 0.3, 0.2), (0.6, 0.3, 0.1), (0.2, 0.2, 0.6), (0.7, 0.1, 0.2)),
        constant=((0.5, 0.2, 0.3),) * 4,
        chance=0.5,
    ),
    aliases={"roc_auc_ovr_weighted": {"average": "weighted"}},
)
def roc_auc_ovr(
    truth: Array | None,
    predicted: Array,
    *,
    average: Annotated[
        Literal["macro", "weighted"], Option("Classes count the same, or by their share of the answers.")
    ] = "macro",
    undefined: Annotated[Undefined, Option(_SKIP)] = "refuse",
    truth_column: Annotated[
        Array | None,
        AnswerColumn("Holds the true class, in place of a column for each.", kind="class", replaces_targets=True),
    ] = None,
    weight: Annotated[Array | None, AnswerColumn("Weight of each row.")] = None,
) -> float:
    """Area under the ROC curve of each class against the rest, averaged; one column of scores for each class."""
    codes = class_codes(truth, truth_column)
    weights = row_weights(weight, len(codes))
    values = [Thresholds.of(codes == i, predicted[:, i], weights).auc() for i in range(predicted.shape[1])]
    mean = mean_defined(values, undefined, _ONE_CLASS)
    if average == "macro":
        return mean
    shares = np.bincount(codes, weights, minlength=len(values))
    defined = [(value, share) for value, share in zip(values, shares, strict=True) if value is not None]
    return float(np.average([value for value, _ in defined], weights=[share for _, share in defined]))


@metric(
    higher_is_better=True,
    range=(0.0, 1.0),
    kinds=("number", "probability"),
    truth="binary",
    targets="columns",
    source="Average precision: sum over the distinct scores, from the highest, of (R_k - R_(k-1)) * P_k, where P and R "
    "are precision and recall of the rows at that score and above. All rows of equal score are one step, so their "
    "order cannot matter. Several columns: the mean over them. As scikit-learn's average_precision_score.",
    degenerate="Answers without a 1 are a fault of the task, or left out by undefined=skip. A constant scores the "
    "share of ones; answers of ones only score 1.",
    golden=(
        Golden(truth=(0, 0, 1, 1), predicted=(0.1, 0.4, 0.35, 0.8), score=5 / 6, note="1/2 * 1 + 1/2 * 2/3."),
        Golden(truth=(1, 0, 0, 0), predicted=(3, 3, 3, 3), score=0.25, note="A constant: the base rate."),
        Golden(truth=(1, 0, 1), predicted=(0.9, 0.9, 0.1), score=1 / 2 * 1 / 2 + 1 / 2 * 2 / 3, note="A tie."),
        Golden(truth=(1, 1), predicted=(0.1, 0.2), score=1.0),
        Golden(
            truth=(0, 1),
            predicted=(0.9, 0.5),
            parameters={"weight": "w"},
            answers={"w": (1, 3)},
            score=0.75,
        ),
        Golden(
            truth=((1, 0), (0, 0)),
            predicted=((0.1, 0.2), (0.5, 0.3)),
            parameters={"undefined": "skip"},
            score=0.5,
        ),
    ),
    trial=Trial(
        truth=(0, 1, 0, 1, 0),
        perfect=(0.1, 0.8, 0.2, 0.9, 0.3),
        noisy=(0.1, 0.8, 0.7, 0.6, 0.3),
        constant=(0.3,) * 5,
        chance=0.4,
    ),
    aliases={"average_precision_score": {}},
)
def average_precision(
    truth: Array,
    predicted: Array,
    *,
    undefined: Annotated[Undefined, Option(_SKIP)] = "refuse",
    weight: Annotated[Array | None, AnswerColumn("Weight of each row.")] = None,
) -> float:
    """Average precision of the scores of a 1; the mean over columns where there are several."""
    weights = row_weights(weight, len(truth))
    values = [Thresholds.of(truth[:, i], predicted[:, i], weights).average_precision() for i in range(truth.shape[1])]
    return mean_defined(values, undefined, _NO_POSITIVE)


@metric(
    higher_is_better=True,
    range=(-1.0, 1.0),
    kinds=("number", "probability"),
    truth="number",
    source="Normalised Gini coefficient: the Gini of the truth in the order of the predictions, divided by that of the "
    "truth in its own order, which is cov(y, rank of p) / cov(y, rank of y) with average ranks. For a truth of 0 and 1 "
    "it is 2 AUC - 1. Kaggle's formula breaks ties by the order of the rows; here a tie counts as the mean over all "
    "of its orders. Several columns: the mean.",
    degenerate="A constant truth is a fault of the task. A constant prediction scores 0.",
    golden=(
        Golden(truth=(0, 1, 0, 1, 1, 0), predicted=(0.1, 0.9, 0.4, 0.35, 0.8, 0.2), score=7 / 9, note="2 * 8/9 - 1."),
        Golden(truth=(1, 2, 4), predicted=(0.1, 0.9, 0.5), score=1 / 3, note="By the ranks 1, 3, 2 and 1, 2, 3."),
        Golden(truth=(1, 2, 4), predicted=(1, 3, 3), score=2 / 3, note="Ranks 1, 2.5, 2.5; the mean of 1 and 1/3."),
        Golden(truth=(3, 1, 2), predicted=(1, 3, 2), score=-1.0),
        Golden(truth=(3, 1, 2), predicted=(5, 5, 5), score=0.0),
    ),
    trial=Trial(
        truth=(1, 2, 4, 8),
        perfect=(1, 2, 4, 8),
        noisy=(2, 1, 4, 8),
        constant=(5, 5, 5, 5),
        chance=0.0,
    ),
    aliases={"normalized_gini": {}, "gini_normalized": {}},
)
def gini(truth: Array, predicted: Array) -> float:
    """Normalised Gini coefficient: how well predictions order the rows by the truth's size."""
    if truth.min() == truth.max():
        raise PackError("The Gini coefficient is undefined: all answers that are scored are the same.")
    scaled = truth / np.abs(truth).max()  # so that the sums below do not overflow
    centred = scaled - scaled.mean()
    return float((centred * _centred_ranks(predicted)).sum() / (centred * _centred_ranks(truth)).sum())


def _centred_ranks(values: Array) -> Array:
    """Ranks, equal values sharing the mean of theirs, around 0."""
    return average_ranks(values) - (len(values) + 1) / 2


@metric(
    higher_is_better=True,
    range=(0.0, 1.0),
    kinds=("number", "probability"),
    truth="binary",
    targets="columns",
    source="Kolmogorov-Smirnov statistic of a classifier, Youden's J at its best threshold: the maximum over "
    "thresholds of (true positive rate - false positive rate). One-sided: reversed scores gain nothing.",
    degenerate="Answers of one class are a fault of the task, or left out by undefined=skip. A constant scores 0, and "
    "so does a reversed ranking.",
    golden=(
        Golden(truth=(0, 1, 0, 1), predicted=(0.1, 0.4, 0.35, 0.2), score=0.5),
        Golden(truth=(0, 1, 1), predicted=(1, 1, 1), score=0.0),
        Golden(truth=(0, 1), predicted=(2, 1), score=0.0),
        Golden(truth=(0, 1, 1), predicted=(5, 5, 7), score=0.5, note="A tie is passed as a whole."),
        Golden(truth=(0, 0, 1), predicted=(1, 3, 2), parameters={"weight": "w"}, answers={"w": (3, 1, 5)}, score=0.75),
    ),
    trial=Trial(
        truth=(0, 1, 0, 1),
        perfect=(0.1, 0.8, 0.2, 0.9),
        noisy=(0.1, 0.8, 0.7, 0.6),
        constant=(0.3, 0.3, 0.3, 0.3),
        chance=0.0,
    ),
    aliases={"ks": {}},
)
def ks_statistic(
    truth: Array,
    predicted: Array,
    *,
    undefined: Annotated[Undefined, Option(_SKIP)] = "refuse",
    weight: Annotated[Array | None, AnswerColumn("Weight of each row.")] = None,
) -> float:
    """The largest gap of true over false positive rate; the mean over columns where there are several."""
    weights = row_weights(weight, len(truth))
    values: list[float | None] = []
    for i in range(truth.shape[1]):
        steps = Thresholds.of(truth[:, i], predicted[:, i], weights)
        positives, negatives = steps.positive.sum(), steps.negative.sum()
        if positives and negatives:
            gaps = steps.positive.cumsum() / positives - steps.negative.cumsum() / negatives
            values.append(max(0.0, float(gaps.max())))
        else:
            values.append(None)
    return mean_defined(values, undefined, _ONE_CLASS)
