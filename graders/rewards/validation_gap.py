"""How far a program's own validation score is from its test score, and what that costs.

The rule and its numbers are those of OpenRSI's released code, which the tests compare; we know no published formula.
"""

from __future__ import annotations

import sys
from fractions import Fraction
from typing import Literal, NamedTuple

from openmle_env.errors import UsageError
from openmle_env.graders.rewards.bounds import StaticBounds, check_static
from openmle_env.graders.rewards.scores import above_zero, at_least_zero, finite

COEFFICIENT = 0.05
TOLERANCE = 0.12
STEEP = 0.25
"""The second slope of the piecewise penalty, for ``steep``; the penalty is not piecewise by default."""
WIDE_RANGE = 100.0
"""Ranges wider than this say little about a gap, so it is measured by the scores themselves."""

Measure = Literal["range", "scores"]


class ValidationGap(NamedTuple):
    """The distance of two scores; all fields are None where one of the two is missing or not finite."""

    absolute: float | None = None
    relative: float | None = None
    """``absolute`` divided by ``denominator``."""
    denominator: float | None = None
    measure: Measure | None = None
    """What the denominator is: the range of the metric, or the greater absolute value of the two scores."""


class PenalizedReward(NamedTuple):
    """A reward after the penalty; ``reward`` is the one before times ``factor``, and ``factor`` is 1 - ``penalty``."""

    reward: float
    penalty: float
    factor: float


def validation_gap(
    validation: float | None,
    test: float | None,
    *,
    static: StaticBounds = StaticBounds(),  # noqa: B008  immutable
) -> ValidationGap:
    """How far the score that a program claims is from the one it got, in either direction.

    Args:
        validation: The program's own score, or None.
        test: The hidden score, or None.
        static: The metric's range (`static_bounds`), or the task's (`task_bounds`). Where it is known and at most 100
            wide, the gap is measured by it; else by the greater absolute value of the two scores.

    Raises:
        UsageError: A score is no number, or ``static`` is not `StaticBounds`.

    >>> validation_gap(50.0, 100.0, static=StaticBounds(0.0, 1000.0))
    ValidationGap(absolute=50.0, relative=0.5, denominator=100.0, measure='scores')
    """
    check_static(static)
    claimed, got = finite(validation), finite(test)
    if claimed is None or got is None:
        return ValidationGap()
    gap = abs(Fraction(claimed) - Fraction(got))  # exact: the difference of two floats may overflow
    if static.worst is not None and static.best is not None and 0 < static.best - static.worst <= WIDE_RANGE:
        return _gap(gap, static.best - static.worst, "range")
    return _gap(gap, max(abs(claimed), abs(got)), "scores")


def penalize_gap(
    reward: float,
    relative_gap: float | None,
    *,
    coefficient: float = COEFFICIENT,
    tolerance: float = TOLERANCE,
    steep: float | None = None,
) -> PenalizedReward:
    """Take a share of the reward for a gap: ``coefficient`` at a gap of ``tolerance``, in proportion to it.

    Args:
        reward: Rewards of 0 and below are left alone, since a factor would make a penalty smaller.
        relative_gap: From `validation_gap`; where it is unknown (None) nothing is taken.
        coefficient: Penalty at the tolerance.
        tolerance: Relative gap, above 0.
        steep: Piecewise penalty: beyond the tolerance it grows by this for each further tolerance (`STEEP` is usual).
            None: it grows on as before. Never more than the whole reward.

    Raises:
        UsageError: The reward, a coefficient or the tolerance is no finite number, or is negative where it cannot be.

    >>> penalize_gap(0.5, 0.24, coefficient=0.1, steep=0.3)
    PenalizedReward(reward=0.3, penalty=0.4, factor=0.6)
    """
    if finite(reward) is None:
        raise UsageError(f"A reward is a finite number, not {reward!r}.")
    slope = coefficient if steep is None else steep
    at_least_zero(coefficient, "coefficient, a slope of the penalty,")
    at_least_zero(slope, "steep, a slope of the penalty,")
    above_zero(tolerance, "tolerance")
    if relative_gap is None or reward <= 0 or finite(relative_gap) is None:
        return PenalizedReward(float(reward), 0.0, 1.0)
    if relative_gap < 0:
        raise UsageError(f"A relative gap is at least 0, not {relative_gap!r}.")
    times = min(relative_gap / tolerance, sys.float_info.max)
    penalty = min(1.0, coefficient * min(times, 1.0) + slope * max(times - 1.0, 0.0))
    return PenalizedReward(reward * (1.0 - penalty), penalty, 1.0 - penalty)


def _gap(gap: Fraction, denominator: float, measure: Measure) -> ValidationGap:
    relative = gap / Fraction(denominator) if denominator else Fraction(0)  # both scores are 0, and so is their gap
    return ValidationGap(_bounded(gap), _bounded(relative), denominator, measure)


def _bounded(value: Fraction) -> float:
    return float(min(value, Fraction(sys.float_info.max)))
