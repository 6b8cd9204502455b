"""What several metrics ask of the answers: weights of rows, and the true class of each row."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from openmle_env.errors import PackError

if TYPE_CHECKING:
    from openmle_env.graders.rows import Array


def row_weights(weight: Array | None, rows: int) -> Array:
    """The weight of each row, the largest 1, so that no sum overflows; 1 where none are given; float64, shape (rows,).

    Raises:
        PackError: A weight is negative, or all are 0.
    """
    if weight is None:
        return np.ones(rows)
    if (weight < 0).any() or not weight.any():
        raise PackError("A weight of a row is negative, or all are 0. Correct the column of weights in the answers.")
    return np.asarray(weight / weight.max())


def class_codes(truth: Array | None, truth_column: Array | None) -> Array:
    """The true class of each row as a position among the target columns; int64 of shape (rows,).

    Args:
        truth: Shape (rows, classes): 1 in the column of the true class, 0 in the others. None where the next is given.
        truth_column: Shape (rows,): the positions themselves.

    Raises:
        PackError: A row has not exactly one true class.
    """
    if truth_column is not None:
        return truth_column.astype(np.int64)
    if truth is None or (truth.sum(axis=1) != 1).any():
        raise PackError(
            "Rows of the answers have not exactly one true class. Write 1 in one of the class columns and 0 in the "
            "others, or name the column of the true class by the parameter truth_column."
        )
    return np.asarray(truth.argmax(axis=1))
