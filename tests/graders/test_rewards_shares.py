from __future__ import annotations

import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from openmle_env.errors import UsageError
from openmle_env.graders.rewards import improvement, normalized

finite = st.floats(allow_nan=False, allow_infinity=False)


@pytest.mark.parametrize(
    ("score", "bounds", "reward"),
    [
        (0.5, (0.5, 1.0), 0.0),
        (1.0, (0.5, 1.0), 1.0),
        (0.2, (0.5, 1.0), 0.0),
        (2.0, (0.5, 1.0), 1.0),
        (1.0, (4.0, 0.0), 0.75),
        (5.0, (4.0, 0.0), 0.0),
        (-1.0, (4.0, 0.0), 1.0),
        (0.0, (-1.7e308, 1.7e308), 0.5),
        (5e-324, (0.0, 1e-323), 0.5),
    ],
)
def test_normalized(score: float, bounds: tuple[float, float], reward: float) -> None:
    assert normalized(score, bounds) == reward


@given(finite, finite, finite)
def test_normalized_is_a_share_and_follows_the_direction(score: float, worst: float, best: float) -> None:
    if worst == best:
        return
    value = normalized(score, (worst, best))
    assert 0.0 <= value <= 1.0
    assert normalized(-score, (-worst, -best)) == value


@pytest.mark.parametrize(
    ("score", "bounds"), [(math.nan, (0.0, 1.0)), (math.inf, (0.0, 1.0)), (0.0, (0.0, math.inf)), (0.5, (1.0, 1.0))]
)
def test_what_is_not_finite_gets_no_reward(score: float, bounds: tuple[float, float]) -> None:
    with pytest.raises(UsageError):
        normalized(score, bounds)


def test_improvements_add_up_to_the_best() -> None:
    scores, best, total = [0.6, 0.55, 0.9, 0.7], None, 0.0
    for score in scores:
        total += improvement(score, best, (0.5, 1.0))
        best = score if best is None else max(best, score)
    assert total == pytest.approx(normalized(0.9, (0.5, 1.0)))


@pytest.mark.parametrize("bounds", [0.5, (0.0,), (0.0, 0.5, 1.0), None])
def test_bounds_are_two_scores(bounds: Any) -> None:
    with pytest.raises(UsageError, match=r"two scores, \(worse, better\)"):
        normalized(0.5, bounds)


def test_what_is_missing_or_too_large_has_no_share() -> None:
    for score in (None, 10**400):
        missing: Any = score
        with pytest.raises(UsageError, match="must be finite"):
            normalized(missing, (0.0, 1.0))
        with pytest.raises(UsageError, match="must be finite"):
            normalized(0.5, (missing, 1.0))
    text: Any = "1"
    with pytest.raises(UsageError, match="A score is a number"):
        normalized(0.5, (0.0, text))
