from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from openmle_env.errors import PackError, UsageError
from openmle_env.graders import metrics
from openmle_env.graders.metrics import Golden

Compute = Callable[..., float]

RANDOM = np.random.default_rng(2)
TRUTH, PREDICTED = RANDOM.gamma(2, size=(2, 50))


def test_rmsle_and_mape_are_scikit_learns(compute: Compute) -> None:
    from sklearn.metrics import mean_absolute_percentage_error, root_mean_squared_log_error

    assert compute("rmsle", TRUTH, PREDICTED) == pytest.approx(root_mean_squared_log_error(TRUTH, PREDICTED), rel=1e-12)
    expected = mean_absolute_percentage_error(TRUTH, PREDICTED)
    assert compute("mape", TRUTH, PREDICTED) == pytest.approx(expected, rel=1e-12)
    with_zero = np.append(TRUTH, 0.0)
    assert compute("mean_absolute_percentage_error", with_zero, np.append(PREDICTED, 1.0)) == pytest.approx(
        mean_absolute_percentage_error(with_zero, np.append(PREDICTED, 1.0)), rel=1e-12
    )


# Scikit-learn takes -0.5 and returns 1.267, and fails at -2.
@pytest.mark.parametrize("negative", [-0.5, -1.0, -2.0, -1e308])
def test_a_negative_prediction_is_refused_or_counts_as_zero(compute: Compute, negative: float) -> None:
    used, truth, predicted = metrics.get("rmsle").example(Golden(truth=(1, 2), predicted=(1, negative), score=0))
    (problem,) = used.problems(predicted, truth)
    assert problem.count == 1
    assert "id '1': a negative number" in problem.message
    clipped = used.with_parameters({"negatives": "clip"})
    assert not clipped.problems(predicted, truth)
    assert clipped(truth, predicted) == compute("rmsle", (1, 2), (1, 0))


def test_minus_zero_is_not_negative(compute: Compute) -> None:
    used, truth, predicted = metrics.get("rmsle").example(Golden(truth=(0,), predicted=(-0.0,), score=0))
    assert not used.problems(predicted, truth)
    assert used(truth, predicted) == 0


def test_a_negative_truth_has_no_logarithm(compute: Compute) -> None:
    with pytest.raises(PackError, match="negative"):
        compute("rmsle", (1, -0.5), (1, 1))


def test_a_true_zero_has_no_percentage(compute: Compute) -> None:
    with pytest.raises(PackError, match="smape or wape"):
        compute("mape", (0, 1), (0, 1))
    with pytest.raises(PackError, match="All true values"):
        compute("mape", (0, 0), (0, 1), zero="skip")
    with pytest.raises(PackError, match="divides by their sum"):
        compute("wape", (0, 0), (0, 1))
    with pytest.raises(PackError, match="divides by their sum"):
        compute("wape", (0, 5), (0, 1), weight="w", answers={"w": (1, 0)})


@given(st.lists(st.tuples(st.integers(-5, 5), st.integers(-5, 5)), min_size=1, max_size=20))
def test_smape_lies_between_zero_and_its_scale_and_is_symmetric(rows: list[tuple[int, int]]) -> None:
    truth, predicted = np.array(rows).T
    function = metrics.get("smape").function
    value = function(truth, predicted)
    assert 0 <= value <= 200
    assert (value == 0) == (truth == predicted).all()
    assert function(predicted, truth) == value
    assert function(truth, predicted, scale=1.0) == pytest.approx(value / 200)


def test_a_scale_is_positive_and_at_most_200() -> None:
    for scale in (0, -1, 201):
        with pytest.raises(UsageError, match="scale"):
            metrics.get("smape", {"scale": scale})
