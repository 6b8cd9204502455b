"""One column of a table as numbers that a target can be predicted from, and how well one such feature predicts it.

How well is a share of what there is to know, from 0, no better than chance, to 1: for classes the mean recall over the
classes, rescaled so that guessing is 0; for numbers the coefficient of determination R² = 1 - Σ(y-f)²/Σ(y-mean)².
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from openmle_env.task_registry.quality.target import MIN_ROWS, to_numbers

if TYPE_CHECKING:
    from collections.abc import Iterator

    from openmle_env.graders.rows import Array
    from openmle_env.task_registry.quality.target import Target

MAX_FIT = 4_000
"""A model is made from as many rows, evenly chosen, and judged on as many."""
BLANKS = ("", "nan", "NaN", "NA", "null", "None")
_BELOW_ALL = -1e300
"""Stands for a missing number: trees put it on a side of its own."""
_LEAVES = 128


@dataclass(frozen=True, slots=True, eq=False)
class Feature:
    """A column as numbers, of the test rows and, where they have it, of the training rows."""

    name: str
    test: Array
    train: Array | None
    monotone: bool = False
    """Whether only a steady rise or fall counts: places of rows, which every smooth series could be read off."""


def of_column(name: str, test: Array, train: Array | None) -> Iterator[Feature]:
    """The features of a column's cells: its value, whether it is there at all, and its length where it is text."""
    both = test if train is None else np.concatenate([test, train])
    blank = np.isin(both, BLANKS)
    cut = len(test)

    def feature(what: str, values: Array) -> Feature:
        return Feature(what, values[:cut], None if train is None else values[cut:])

    if 0 < blank.sum() < len(both):
        yield feature(f"{name} is there or not", (~blank).astype(np.float64))
    numbers = to_numbers(both)
    if np.isfinite(numbers[~blank]).mean() > 0.9 if not blank.all() else False:
        yield feature(name, np.where(np.isfinite(numbers), numbers, _BELOW_ALL))
        return
    _, codes = np.unique(both.astype(str), return_inverse=True)
    if codes.max(initial=0) + 1 <= len(both) * 0.9:
        yield feature(name, codes.astype(np.float64))
    lengths = np.array([len(cell) for cell in both], dtype=np.float64)
    if len(np.unique(lengths)) > 1:
        yield feature(f"length of {name}", lengths)
    stems = np.array([re.sub(r"[\W\d_]+", " ", cell)[:40].strip().casefold() for cell in both], dtype=object)
    _, stem_codes = np.unique(stems.astype(str), return_inverse=True)
    if 1 < stem_codes.max(initial=0) + 1 <= len(both) * 0.5 and not np.array_equal(stem_codes, codes):
        yield feature(f"letters of {name}", stem_codes.astype(np.float64))


def skill(feature: Feature, target: Target) -> float:
    """How well the feature predicts the target of the test rows: learnt from the training rows where that is possible.

    Where the training rows have no such feature or target, one half of the test rows is predicted from the other and
    the other way round; for a monotone feature it is |rank correlation|. 0 where the rows are too few.
    """
    known = target.codes >= 0 if target.kind == "classes" else np.isfinite(target.codes)
    test, truth = feature.test[known], target.codes[known]
    if len(truth) < MIN_ROWS or len(np.unique(truth)) < 2 or len(np.unique(test)) < 2:
        return 0.0
    if feature.monotone:
        return _monotone(test, truth, classes=target.kind == "classes")
    if feature.train is not None and target.train_codes is not None:
        usable = target.train_codes >= 0 if target.kind == "classes" else np.isfinite(target.train_codes)
        if usable.sum() >= MIN_ROWS:
            train_rows, test_rows = _evenly(feature.train[usable], MAX_FIT), _evenly(test, MAX_FIT)
            predicted = _fit(feature.train[usable][train_rows], target.train_codes[usable][train_rows], target)
            return _score(truth[test_rows], predicted(test[test_rows]), target)
    rows = _evenly(test, MAX_FIT)
    test, truth = test[rows], truth[rows]
    # Shuffled, always in the same way, so that neighbours fall into both halves.
    first = np.random.default_rng(0).permutation(len(test)) % 2 == 0
    halves = (_score(truth[~fit], _fit(test[fit], truth[fit], target)(test[~fit]), target) for fit in (first, ~first))
    return min(halves)


def _evenly(values: Array, most: int) -> Array:
    return np.arange(len(values)) if len(values) <= most else np.linspace(0, len(values) - 1, most).astype(np.int64)


def _fit(values: Array, truth: Array, target: Target) -> _Predictor:
    from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor  # 0.5 s

    if target.kind == "classes":
        weights = None if len(values) < 2 else "balanced"
        model = DecisionTreeClassifier(max_leaf_nodes=_LEAVES, class_weight=weights, random_state=0)
    else:
        model = DecisionTreeRegressor(max_leaf_nodes=_LEAVES * 4, random_state=0)
    # Ranks instead of values: a tree works in single precision, in which large numbers fall together.
    order = np.unique(values)
    model.fit(np.searchsorted(order, values).reshape(-1, 1), truth)
    return _Predictor(model, order)


@dataclass(frozen=True, slots=True)
class _Predictor:
    model: object
    order: Array

    def __call__(self, values: Array) -> Array:
        places = np.interp(values, self.order, np.arange(len(self.order)))
        return np.asarray(self.model.predict(places.reshape(-1, 1)))  # type: ignore[attr-defined]  # a tree


def _score(truth: Array, predicted: Array, target: Target) -> float:
    if target.kind == "classes":
        present = [code for code in np.unique(truth) if (truth == code).sum() > 1]
        if len(present) < 2:
            return 0.0
        recall = float(np.mean([(predicted[truth == code] == code).mean() for code in present]))
        return max(0.0, (recall - 1 / len(present)) / (1 - 1 / len(present)))
    spread = float(np.square(truth - truth.mean()).sum())
    return max(0.0, 1 - float(np.square(truth - predicted).sum()) / spread) if spread > 0 else 0.0


def _monotone(values: Array, truth: Array, *, classes: bool) -> float:
    """|rank correlation| for numbers; for classes the share of order: 1 where each class is one unbroken run."""
    order = np.argsort(values, kind="stable")
    if classes:
        along = truth[order]
        changes = int((along[1:] != along[:-1]).sum())
        _, counts = np.unique(truth, return_counts=True)
        expected = (len(truth) - 1) * (1 - float(np.square(counts / len(truth)).sum()))
        least = len(counts) - 1
        return max(0.0, 1 - (changes - least) / (expected - least)) if expected > least + 1 else 0.0
    from scipy.stats import spearmanr

    correlation = float(spearmanr(values, truth).statistic)
    return abs(correlation) if np.isfinite(correlation) else 0.0
