"""Where a score lies between two that are worth 0 and 1."""

from __future__ import annotations

from fractions import Fraction

from openmle_env.errors import UsageError
from openmle_env.graders.rewards.scores import finite

FAR = 10**6
"""How many spans beyond its bounds a score still counts: what is farther is put here, so that `position` is finite."""


def normalized(score: float, bounds: tuple[float, float]) -> float:
    """Where ``score`` lies between the bounds (the worse one first), clipped to [0, 1].

    Unsigned: score and bounds are as the metric gives them, such as a task's ``reward_bounds``, and their order holds
    the direction, so that this is the same for errors and for accuracies. Signed ones, all three, give the same.

    Raises:
        UsageError: A number is missing or not finite, or the bounds are equal.

    >>> normalized(0.75, (0.5, 1.0)), normalized(3.0, (4.0, 0.0)), normalized(9.0, (4.0, 0.0))
    (0.5, 0.25, 0.0)
    """
    return float(min(Fraction(1), max(Fraction(0), _share(score, bounds))))


def position(score: float, bounds: tuple[float, float]) -> float:
    """As `normalized`, but not clipped to [0, 1]: below 0 is worse than the bounds, above 1 better.

    Raises:
        UsageError: As for `normalized`.

    >>> position(6.0, (4.0, 0.0))
    -0.5
    """
    return float(min(Fraction(FAR), max(Fraction(-FAR), _share(score, bounds))))


def improvement(score: float, best_so_far: float | None, bounds: tuple[float, float]) -> float:
    """By how much the normalized best rises; over an episode the sum is the normalized best score.

    Unsigned, as for `normalized`.

    Raises:
        UsageError: As for `normalized`.

    >>> improvement(0.75, None, (0.5, 1.0)), improvement(0.6, 0.75, (0.5, 1.0))
    (0.5, 0.0)
    """
    before = 0.0 if best_so_far is None else normalized(best_so_far, bounds)
    return max(0.0, normalized(score, bounds) - before)


def _share(score: float, bounds: tuple[float, float]) -> Fraction:
    try:
        worse, better = bounds
    except (TypeError, ValueError):
        raise UsageError(f"Reward bounds are two scores, (worse, better), not {bounds!r}.") from None
    number, worst, best = finite(score), finite(worse), finite(better)
    if number is None or worst is None or best is None:
        raise UsageError(f"Score {score!r} and bounds {bounds!r} must be finite.")
    if worst == best:
        raise UsageError(f"The reward bounds {bounds!r} are equal; state a worse and a better score.")
    # Exact, since differences of finite floats can overflow or vanish.
    return (Fraction(number) - Fraction(worst)) / (Fraction(best) - Fraction(worst))
