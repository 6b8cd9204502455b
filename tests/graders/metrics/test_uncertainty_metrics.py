from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest

from openmle_env.errors import PackError, UsageError
from openmle_env.graders import metrics

Compute = Callable[..., float]


@pytest.mark.parametrize("quantile", [0.0, 0.1, 0.5, 0.95, 1.0])
def test_pinball_is_scikit_learns(compute: Compute, quantile: float) -> None:
    from sklearn.metrics import mean_pinball_loss

    truth, predicted = np.random.default_rng(3).normal(size=(2, 50))
    assert compute("pinball", truth, predicted, quantiles=[quantile]) == pytest.approx(
        mean_pinball_loss(truth, predicted, alpha=quantile), rel=1e-12
    )


def test_one_quantile_for_each_column(compute: Compute) -> None:
    with pytest.raises(PackError, match="2 quantiles and 1 target columns"):
        compute("pinball", (1, 2), (1, 2), quantiles="0.1, 0.9")
    with pytest.raises(UsageError, match="quantiles"):
        metrics.get("pinball", {"quantiles": [1.5]})


def test_the_true_quantile_has_the_least_loss(compute: Compute) -> None:
    truth = list(range(1, 101))
    losses = [compute("pinball", truth, [guess] * 100, quantiles=[0.9]) for guess in range(1, 101)]
    assert losses.index(min(losses)) + 1 in (90, 91)


def test_the_best_confidence_of_laplace_is_the_error_times_root_two(compute: Compute) -> None:
    def value(confidence: float) -> float:
        return compute("laplace_log_likelihood", (2000,), [(2300, confidence)])

    best = 300 * math.sqrt(2)
    assert value(best) > value(best - 1)
    assert value(best) > value(best + 1)


def test_laplace_has_a_value_for_any_numbers(compute: Compute) -> None:
    worst = compute("laplace_log_likelihood", (2000,), [(1e308, -1e308)])
    assert worst == pytest.approx(-math.sqrt(2) * 1000 / 70 - math.log(70 * math.sqrt(2)))
    unsure = compute("laplace_log_likelihood", (2000,), [(2000, 1.7e308)])
    assert unsure == pytest.approx(-math.log(1.7e308) - math.log(math.sqrt(2)))


def test_laplace_needs_two_columns(compute: Compute) -> None:
    with pytest.raises(PackError, match="needs 2 target columns"):
        compute("laplace_log_likelihood", (1, 2), (1, 2))
