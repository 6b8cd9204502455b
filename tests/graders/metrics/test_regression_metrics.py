from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest

from openmle_env.errors import PackError, UnknownNameError
from openmle_env.graders import metrics
from openmle_env.graders.rows import Rows
from openmle_env.types import Column, ResultStatus

Compute = Callable[..., float]

RANDOM = np.random.default_rng(1)
TRUTH, PREDICTED, WEIGHT = RANDOM.normal(size=(3, 50))
WEIGHT = np.abs(WEIGHT)


@pytest.mark.parametrize(
    ("name", "theirs"),
    [
        ("mae", "mean_absolute_error"),
        ("median_ae", "median_absolute_error"),
        ("mse", "mean_squared_error"),
        ("rmse", "root_mean_squared_error"),
        ("r2", "r2_score"),
        ("explained_variance", "explained_variance_score"),
    ],
)
def test_values_are_those_of_scikit_learn(compute: Compute, name: str, theirs: str) -> None:
    import sklearn.metrics

    function = getattr(sklearn.metrics, theirs)
    assert compute(name, TRUTH, PREDICTED) == pytest.approx(function(TRUTH, PREDICTED), rel=1e-12)
    columns = np.stack((TRUTH, PREDICTED), axis=1)
    assert compute(theirs, [tuple(row) for row in columns], [tuple(row) for row in columns * 2 + 1]) == pytest.approx(
        function(columns, columns * 2 + 1), rel=1e-12
    )


@pytest.mark.parametrize(
    ("name", "theirs"),
    [
        ("mae", "mean_absolute_error"),
        ("mse", "mean_squared_error"),
        ("rmse", "root_mean_squared_error"),
    ],
)
def test_weighted_values_are_those_of_scikit_learn(compute: Compute, name: str, theirs: str) -> None:
    import sklearn.metrics

    assert compute(name, TRUTH, PREDICTED, weight="w", answers={"w": WEIGHT}) == pytest.approx(
        getattr(sklearn.metrics, theirs)(TRUTH, PREDICTED, sample_weight=WEIGHT), rel=1e-12
    )


@pytest.mark.parametrize("weights", [(1, -1, 1), (0, 0, 0)])
@pytest.mark.parametrize("name", ["mae", "mse", "rmse", "wape"])
def test_weights_that_are_none(compute: Compute, name: str, weights: tuple[float, ...]) -> None:
    with pytest.raises(PackError, match="weight of a row"):
        compute(name, (1, 2, 3), (1, 2, 4), weight="w", answers={"w": weights})


@pytest.mark.parametrize("name", ["r2", "explained_variance"])
@pytest.mark.parametrize("truth", [(3,), (2, 2, 2), (0.1, 0.1, 0.1)])
def test_a_constant_truth_has_no_variance_to_explain(compute: Compute, name: str, truth: tuple[float, ...]) -> None:
    with pytest.raises(PackError, match="variance"):
        compute(name, truth, truth)


def test_the_difference_of_great_integers_does_not_wrap_around(compute: Compute) -> None:
    assert compute("mae", [-(2**62)] * 2, [2**62] * 2, kind="integer") == 2.0**63
    assert compute("rmse", [-(2**62)], [2**62], kind="integer") == 2.0**63


@pytest.mark.parametrize("name", ["mse", "rmse", "r2", "explained_variance"])
def test_squares_that_overflow_are_the_submissions_fault(name: str) -> None:
    def rows(values: tuple[float, float]) -> Rows:
        column = Column(name="y", kind="number")
        return Rows(Column(name="id", kind="integer"), np.arange(2), {"y": column}, {"y": np.array(values)})

    scored = metrics.get(name).score(rows((1.0, 2.0)), rows((1e308, -1e308)), [0, 1])
    assert (scored.status, scored.score) == (ResultStatus.SUBMISSION_INVALID, None)


def test_twice_the_error_is_a_worse_score(compute: Compute) -> None:
    for name in ("mae", "median_ae", "mse", "rmse"):
        assert compute(name, (1, 2, 3), (2, 3, 4)) < compute(name, (1, 2, 3), (3, 4, 5))
        assert not metrics.get(name).higher_is_better


def test_groups_count_alike_whatever_their_size(compute: Compute) -> None:
    groups = {"g": ["a"] * 9 + ["b"]}
    value = compute("group_log_mae", [0] * 10, [1] * 9 + [math.e], group="g", answers=groups)
    assert value == pytest.approx(0.5)  # ln 1 and ln e, and not 0.9 of the first


def test_groups_have_to_be_named(compute: Compute) -> None:
    with pytest.raises(PackError, match="needs the parameter group"):
        compute("group_log_mae", (1, 2), (1, 2))
    with pytest.raises(PackError, match="needs the parameter group"):
        metrics.get("group_log_mae").function(np.ones(2), np.ones(2))


def test_no_name_promises_to_leave_rows_out() -> None:
    # Which rows are scored is said by the task, not by the metric.
    with pytest.raises(UnknownNameError):
        metrics.get("mae_masked")
