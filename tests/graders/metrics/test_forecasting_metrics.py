from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest

from openmle_env.errors import PackError, UsageError
from openmle_env.graders.metrics.forecasting import naive_scale

Compute = Callable[..., float]


@pytest.mark.parametrize(
    ("history", "season", "squared", "expected"),
    [
        ([1, 3, 2], 1, True, (4 + 1) / 2),
        ([1, 3, 2], 1, False, (2 + 1) / 2),
        ([1, 3, 2, 7], 2, False, (1 + 4) / 2),
        ([0, 0, 1, 3, 0], 1, False, (2 + 3) / 2),  # zeros in front are left out, zeros within are sales
        ([0, 0, 0, 5, 5, 5], 1, True, 0.0),  # flat from its first sale on
        ([0, 0, 0], 1, True, 0.0),  # never sold
        ([0, 0, 5], 1, True, 0.0),  # sold once
    ],
)
def test_the_scale_of_a_series(history: list[float], season: int, squared: bool, expected: float) -> None:
    assert naive_scale(history, season=season, squared=squared) == expected


@pytest.mark.parametrize(
    ("history", "season"), [([], 1), ([5], 1), ([1, 2], 2), ([1, 2], 0), ([[1, 2], [3, 4]], 1), ([1, math.nan], 1)]
)
def test_a_history_without_a_scale(history: list[float], season: int) -> None:
    with pytest.raises(UsageError, match=r"season|fill in"):
        naive_scale(history, season=season)


def test_the_naive_forecast_of_the_past_scores_one(compute: Compute) -> None:
    history = np.random.default_rng(4).poisson(5, 40) + 1.0
    truth, naive = history[1:], history[:-1]
    for name, squared in (("mase", False), ("wrmsse", True)):
        columns = {"s": [naive_scale(history, squared=squared)] * 39, "w": [1] * 39, "name": ["a"] * 39}
        given = {"weight": "w", "series": "name"} if name == "wrmsse" else {}
        assert compute(name, truth, naive, scale="s", answers=columns, **given) == pytest.approx(1.0)


def test_mase_without_a_scale_that_can_be_divided_by(compute: Compute) -> None:
    with pytest.raises(PackError, match="zero_scale=skip"):
        compute("mase", (1, 2), (1, 2), scale="s", answers={"s": (1, 0)})
    with pytest.raises(PackError, match="Every scale is 0"):
        compute("mase", (1, 2), (1, 2), scale="s", zero_scale="skip", answers={"s": (0, 0)})
    with pytest.raises(PackError, match="needs the parameter scale"):
        compute("mase", (1, 2), (1, 2))
