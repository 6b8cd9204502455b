"""Ranks with ties, and counts of pairs in the wrong order, in time that grows as n log n."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from openmle_env.graders.rows import Array


def rank_codes(values: Array) -> Array:
    """Position (int64) of each value among the distinct values, sorted; equal values share a code."""
    return np.unique(values, return_inverse=True)[1].astype(np.int64)


def average_ranks(values: Array) -> Array:
    """Ranks from 1 (float64); equal values share the mean of the ranks that they occupy.

    >>> average_ranks(np.array([10, 30, 20, 20])).tolist()
    [1.0, 4.0, 2.5, 2.5]
    """
    _, codes, counts = np.unique(values, return_inverse=True, return_counts=True)
    return np.asarray((np.cumsum(counts) - (counts - 1) / 2)[codes])


def inversions(codes: Array, weight: Array | None = None) -> int:
    """How many pairs stand in the wrong order: i before j, but codes[i] > codes[j].

    With weights (whole numbers, one for each position), a pair counts as often as the weight of i says.

    The codes are sorted by one bit after the other, the highest first. A pair is in the wrong order exactly if, at the
    first bit in which it differs, the 1 stands before the 0; so at each bit the 1s before each 0 are counted, among
    the codes that agree in all higher bits. These stand together (a block), in their original order.

    Args:
        codes: Whole numbers from 0, best without gaps: memory grows with the greatest.
        weight: What a pair counts, by its first element.

    >>> inversions(np.array([2, 0, 1]))
    2
    """
    if not len(codes):
        return 0
    codes = codes.astype(np.int64)
    weight = np.ones(len(codes), dtype=np.int64) if weight is None else weight.astype(np.int64)
    above = int(codes.max()) + 1
    below = np.concatenate(([0], np.cumsum(np.bincount(codes, minlength=above))))  # how many codes are smaller
    places = np.arange(len(codes))
    total = 0
    for bit in reversed(range(above.bit_length())):
        high = codes >> bit
        ones = (high & 1).astype(bool)
        start = below[np.minimum((high >> 1) << (bit + 1), above)]  # where the block begins
        middle = below[np.minimum((high | 1) << bit, above)]  # where its 1s will begin
        passed = np.concatenate(([0], np.cumsum(np.where(ones, weight, 0))))
        total += int((passed[places] - passed[start])[~ones].sum())
        count = np.concatenate(([0], np.cumsum(ones)))
        before = count[places] - count[start]  # 1s before, in the block
        target = np.where(ones, middle + before, places - before)
        moved, weights = np.empty_like(codes), np.empty_like(weight)
        moved[target], weights[target] = codes, weight
        codes, weight = moved, weights
    return total
