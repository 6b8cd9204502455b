from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from openmle_env.errors import PackError
from openmle_env.graders import metrics

Compute = Callable[..., float]

NAMES = ("pearson", "spearman", "kendall_tau_b", "ccc")
# Few different values, so that ties are frequent.
ROWS = st.lists(st.tuples(st.integers(0, 6), st.integers(0, 6)), min_size=2, max_size=30).filter(
    lambda rows: len({truth for truth, _ in rows}) > 1 and len({predicted for _, predicted in rows}) > 1
)


@given(ROWS)
def test_values_are_those_of_scipy(rows: list[tuple[int, int]]) -> None:
    from scipy import stats

    truth, predicted = np.array(rows).T
    for name, theirs in (("pearson", "pearsonr"), ("spearman", "spearmanr"), ("kendall_tau_b", "kendalltau")):
        expected = getattr(stats, theirs)(truth, predicted).statistic
        assert metrics.get(name).function(truth, predicted) == pytest.approx(expected, abs=1e-12)


@given(ROWS)
def test_ccc_is_lins_formula(rows: list[tuple[int, int]]) -> None:
    truth, predicted = np.array(rows).T
    shared = np.cov(truth, predicted, bias=True)
    expected = 2 * shared[0, 1] / (shared[0, 0] + shared[1, 1] + (truth.mean() - predicted.mean()) ** 2)
    assert metrics.get("ccc").function(truth, predicted) == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("truth", [(3,), (2, 2, 2), (0.1, 0.1, 0.1)])
def test_nothing_correlates_with_a_constant_truth(compute: Compute, name: str, truth: tuple[float, ...]) -> None:
    with pytest.raises(PackError, match="equal"):
        compute(name, truth, range(len(truth)))


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("constant", [0.0, 0.1, -3.0, 1e308, 5e-324])
def test_a_constant_prediction_is_worth_nothing(compute: Compute, name: str, constant: float) -> None:
    assert compute(name, (0.1, 0.7, 0.2), [constant] * 3) == 0.0


def test_a_constant_column_leaves_the_others_their_worth(compute: Compute) -> None:
    truth = [(value, value) for value in (1, 2, 3, 4)]
    predicted = [(value, 0.5) for value in (1, 2, 3, 4)]
    for name in ("pearson", "spearman", "kendall_tau_b"):
        assert compute(name, truth, predicted) == pytest.approx(0.5)


@pytest.mark.parametrize("factor", [1e-320, 1e-200, 1e200, 1.7e308, -1e300])
def test_a_correlation_knows_no_unit(compute: Compute, factor: float) -> None:
    predicted = [factor * value for value in (0.1, 0.4, 0.3, 1.0)]
    expected = compute("pearson", (1, 2, 3, 4), (0.1, 0.4, 0.3, 1.0))
    # The smallest floats have few digits.
    assert compute("pearson", (1, 2, 3, 4), predicted) == pytest.approx(math.copysign(expected, factor), rel=1e-3)


def test_neighbouring_floats_still_correlate(compute: Compute) -> None:
    predicted = [1e8, math.nextafter(1e8, math.inf), math.nextafter(1e8, 0)]
    assert compute("pearson", (2, 3, 1), predicted) == pytest.approx(1.0)


def test_great_integers_keep_their_order(compute: Compute) -> None:
    # As float64 these would be equal.
    predicted = [2**60, 2**60 + 1, 2**60 + 2]
    assert compute("spearman", (1, 2, 3), predicted, kind="integer") == pytest.approx(1.0)
    assert compute("kendall_tau_b", (1, 2, 3), predicted, kind="integer") == pytest.approx(1.0)


def test_ccc_of_huge_predictions_is_about_zero(compute: Compute) -> None:
    assert compute("ccc", (1, 2, 3), (1e300, 2e300, 3e300)) == pytest.approx(0.0, abs=1e-12)
