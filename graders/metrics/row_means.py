"""Means over rows: weighted, and within groups of rows that a column of the answers names."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from openmle_env.errors import PackError
from openmle_env.graders.metrics.definition import HUGE
from openmle_env.graders.metrics.truth import row_weights

if TYPE_CHECKING:
    from openmle_env.graders.rows import Array

SMALLEST = 1 / HUGE
"""The least size of the truth that an error is divided by. Below it, ordinary predictions would overflow."""


def needed(column: Array | None, parameter: str) -> Array:
    """The values of a column of the answers without which a metric is undefined.

    Raises:
        PackError: The parameter that names it was not given.
    """
    if column is None:
        raise PackError(f"The metric needs the parameter {parameter}: the name of a column of the answers.")
    return column


def numbers(truth: Array) -> Array:
    """True values in float64.

    Raises:
        PackError: One is so large that the square of an ordinary prediction's error overflows, which would be charged
            to the prediction otherwise.
    """
    values = truth.astype(np.float64, copy=False)
    if max(values.max(initial=0.0), -values.min(initial=0.0)) > HUGE:
        raise PackError(f"A true value is beyond {HUGE:g}, so that errors overflow: give the answers in another unit.")
    return values


def errors(truth: Array, predicted: Array) -> Array:
    """Prediction minus truth in float64: the difference of two int64 could wrap around.

    Raises:
        PackError: As for `numbers`.
    """
    return predicted.astype(np.float64, copy=False) - numbers(truth)


def weighted_mean(values: Array, weight: Array | None) -> float:
    """The sum of weight * value over the sum of weights; the plain mean without weights. Both of shape (rows,).

    Raises:
        PackError: A weight is negative, or all are 0.
    """
    if weight is None:
        return float(values.mean())
    weights = row_weights(weight, len(values))
    return float((values * weights).sum() / weights.sum())


def group_codes(labels: Array) -> Array:
    """Codes 0, 1, 2 ... (int64) of the labels, in the order in which these occur first.

    A dictionary is linear in the rows, where sorting a million strings is not.
    """
    first: dict[str, int] = {}
    return np.fromiter((first.setdefault(label, len(first)) for label in labels), np.int64, len(labels))


def group_means(values: Array, codes: Array) -> Array:
    """The mean of the values of each group; shape (groups,). Every code up to the greatest must occur."""
    return np.asarray(np.bincount(codes, values) / np.bincount(codes))
