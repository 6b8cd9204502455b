"""Rewards of a score, from the two scores that are worth 0 and 1. Every one is finite."""

from __future__ import annotations

import math
from fractions import Fraction

from openmle_env.errors import UsageError


def normalized(score: float, bounds: tuple[float, float]) -> float:
    """Where ``score`` lies between the bounds (the worse one first), clipped to [0, 1].

    The order of the bounds holds the direction, so this is the same for errors and for accuracies.

    Raises:
        UsageError: A number is not finite, or the bounds are equal.

    >>> normalized(0.75, (0.5, 1.0)), normalized(3.0, (4.0, 0.0)), normalized(9.0, (4.0, 0.0))
    (0.5, 0.25, 0.0)
    """
    if not all(math.isfinite(number) for number in (score, *bounds)):
        raise UsageError(f"Score {score!r} and bounds {bounds!r} must be finite.")
    worst, best = map(Fraction, bounds)
    if worst == best:
        raise UsageError(f"The reward bounds {bounds!r} are equal; state a worse and a better score.")
    # Exact, since differences of finite floats can overflow or vanish.
    share = (Fraction(score) - worst) / (best - worst)
    return float(min(Fraction(1), max(Fraction(0), share)))


def improvement(score: float, best_so_far: float | None, bounds: tuple[float, float]) -> float:
    """By how much the normalized best rises; over an episode the sum is the normalized best score.

    Raises:
        UsageError: As for `normalized`.

    >>> improvement(0.75, None, (0.5, 1.0)), improvement(0.6, 0.75, (0.5, 1.0))
    (0.5, 0.0)
    """
    before = 0.0 if best_so_far is None else normalized(best_so_far, bounds)
    return max(0.0, normalized(score, bounds) - before)
