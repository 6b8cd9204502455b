from __future__ import annotations

import itertools

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from openmle_env.graders.metrics.rank_counts import average_ranks, inversions, rank_codes

CODES = st.lists(st.integers(0, 9), max_size=40)


@given(CODES)
def test_inversions_are_the_pairs_in_the_wrong_order(codes: list[int]) -> None:
    expected = sum(a > b for a, b in itertools.combinations(codes, 2))
    assert inversions(np.array(codes, dtype=np.int64)) == expected


@given(st.lists(st.tuples(st.integers(0, 9), st.integers(0, 3)), max_size=40))
def test_weighted_inversions_count_by_their_first_element(rows: list[tuple[int, int]]) -> None:
    expected = sum(weight for (a, weight), (b, _) in itertools.combinations(rows, 2) if a > b)
    codes, weights = np.array(rows, dtype=np.int64).reshape(-1, 2).T
    assert inversions(codes, weights) == expected


def test_inversions_of_many_rows() -> None:
    count = 100_000
    assert inversions(np.arange(count)) == 0
    assert inversions(np.arange(count)[::-1]) == count * (count - 1) // 2


@given(st.lists(st.floats(allow_nan=False), min_size=1, max_size=40))
def test_average_ranks_are_scipys(values: list[float]) -> None:
    from scipy.stats import rankdata

    assert average_ranks(np.array(values)).tolist() == rankdata(values).tolist()


def test_zeros_of_both_signs_are_equal() -> None:
    assert rank_codes(np.array([0.0, -0.0, -1.0])).tolist() == [1, 1, 0]
