"""The two scores between which a reward is spread: fixed ones of the task, or ones that follow what was reached.

Formulas: the OpenRSI paper (Frontis-MA1), Eq. 6 (signed score), Eq. 7 (static bounds) and its rule for bounds that
adapt, which is the mode ``top1_top16``. The other modes, `MIN_SPAN`, `MAX_SPAN` and the worst anchor of -100 are
settings of OpenRSI's released code, not of the paper. What is done where scores tie, where only one static limit is
known, or near the largest floats, is our own choice; where that code has a number of it, ours is the same.

All bounds are of signed scores, so that higher is better for every metric. `task_bounds` makes the static ones of a
task; the bounds in a task's specification, ``reward_bounds``, are of scores as the metric gives them.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from statistics import median
from typing import TYPE_CHECKING, Literal, NamedTuple, get_args

from openmle_env.errors import UsageError, unknown_name
from openmle_env.graders.medals import finite_number
from openmle_env.graders.rewards.scores import (
    above_zero,
    at_least_zero,
    finite,
    known,
    listed,
    need_instance,
    signed,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

BoundMode = Literal["top1_top16", "top1_top8", "top1_all_mean", "top1_all_median", "theoretical"]
Preference = Literal["hull", "theoretical", "leaderboard"]

BOUND_MODES: tuple[str, ...] = get_args(BoundMode)
LOWER_SHIFT = 0.25
"""By which share of the span the lower adaptive bound is moved down, so that the weakest of the best get something."""
MIN_SPAN = 1e-6
MAX_SPAN = 1e6
FARTHEST_ANCHOR = 100.0
"""The lowest signed score that `anchored_bounds` takes for the worst."""


HOW_TO_SIGN = (
    "Signed means that higher is better: where lower is better, negate both, so that a loss from 4.0 (worst) to 0.0 "
    "(best) is -4.0 to 0.0. `task_bounds` does so for a task, `static_bounds` for ranges."
)


class Bounds(NamedTuple):
    """Signed scores that stand for 0 and 1; ``worst`` is the lower one.

    Not the ``reward_bounds`` of a task, which are as the metric gives them: for those there is `normalized`.
    """

    worst: float
    best: float


def check_bounds(bounds: Bounds) -> None:
    """Refuse what are no bounds.

    Raises:
        UsageError: They are not `Bounds`, not finite, or the worst is not below the best.
    """
    need_instance(bounds, Bounds, "Bounds are Bounds(worst, best), of signed scores, both ends known.")
    if not (all(finite_number(end) is not None for end in bounds) and bounds.worst < bounds.best):
        raise UsageError(
            f"Bounds are finite signed scores, the worst below the best, not {tuple(bounds)!r}. {HOW_TO_SIGN}"
        )


@dataclass(frozen=True, slots=True)
class StaticBounds:
    """What is known of a task's signed scores beforehand, which no adaptive bound passes; None for an unknown end.

    Raises:
        UsageError: An end is not a finite number, or the worst is above the best.

    >>> StaticBounds(-4.0, 0.0).bounds(), StaticBounds(None, 0.0).bounds()
    (Bounds(worst=-4.0, best=0.0), None)
    """

    worst: float | None = None
    best: float | None = None

    def __post_init__(self) -> None:
        for name in ("worst", "best"):
            end = getattr(self, name)
            if end is not None:
                number = finite_number(end)
                if number is None:
                    raise UsageError(f"The {name} static bound is a finite number, or None if unknown, not {end!r}.")
                object.__setattr__(self, name, number)
        if self.worst is not None and self.best is not None and self.worst > self.best:
            raise UsageError(f"The worst static bound, {self.worst!r}, is above the best, {self.best!r}. {HOW_TO_SIGN}")

    def bounds(self, *, max_span: float = MAX_SPAN) -> Bounds | None:
        """Both ends as bounds, at most ``max_span`` apart; None where one is unknown or they are equal."""
        if self.worst is None or self.best is None or self.worst >= self.best:
            return None
        return cap_span(Bounds(self.worst, self.best), max_span=max_span)


def check_static(static: StaticBounds) -> None:
    """Refuse static bounds of another type, such as a task's ``reward_bounds``.

    Raises:
        UsageError: They are not `StaticBounds`.
    """
    need_instance(
        static,
        StaticBounds,
        "Static bounds are StaticBounds(worst, best) of signed scores, StaticBounds() where nothing is known; "
        "`task_bounds` makes those of a task.",
    )


def cap_span(bounds: Bounds, *, max_span: float = MAX_SPAN) -> Bounds:
    """The bounds, with the worse one moved up so that they are at most ``max_span`` apart.

    Without it a task whose worst known score is enormous would give all useful scores the same reward.

    Raises:
        UsageError: The span is not above 0, the bounds are not `Bounds`, or the worst is not below the best.

    >>> cap_span(Bounds(-5e6, 0.0))
    Bounds(worst=-1000000.0, best=0.0)
    """
    check_bounds(bounds)
    above_zero(max_span, "max_span")
    worst = max(bounds.worst, bounds.best - max_span)
    # Near the largest floats the span may vanish in rounding.
    return Bounds(worst if worst < bounds.best else math.nextafter(bounds.best, -math.inf), bounds.best)


def static_bounds(
    *,
    higher_is_better: bool,
    theoretical: tuple[float | None, float | None] = (None, None),
    leaderboard: tuple[float | None, float | None] = (None, None),
    prefer: Preference = "hull",
) -> StaticBounds:
    """What the task itself says of its scores: the outer hull of the metric's range and of the leaderboard's.

    OpenRSI paper, Eq. 7.

    Args:
        higher_is_better: Direction of the metric.
        theoretical: Least and greatest value of the metric, as the metric gives them; None, NaN or infinite where
            there is none.
        leaderboard: Least and greatest score of the leaderboard, likewise.
        prefer: ``hull``, or the source that counts alone at each end where it says something.

    Raises:
        UsageError: A range is no pair or upside down, or ``prefer`` or the direction is unknown.

    >>> static_bounds(higher_is_better=False, theoretical=(0.0, None), leaderboard=(0.1, 5.0))
    StaticBounds(worst=-5.0, best=0.0)
    """
    sources = {
        "theoretical": _signed_range(theoretical, "theoretical", higher_is_better),
        "leaderboard": _signed_range(leaderboard, "leaderboard", higher_is_better),
    }
    if prefer == "hull":
        return StaticBounds(
            min(known(limits.worst for limits in sources.values()), default=None),
            max(known(limits.best for limits in sources.values()), default=None),
        )
    if prefer not in sources:
        raise unknown_name("preference of static bounds", prefer, ("hull", *sources))
    first = sources.pop(prefer)
    (second,) = sources.values()
    return StaticBounds(
        second.worst if first.worst is None else first.worst, second.best if first.best is None else first.best
    )


def anchored_bounds(
    *,
    higher_is_better: bool,
    theoretical: tuple[float | None, float | None] = (None, None),
    leaderboard: tuple[float | None, float | None] = (None, None),
) -> Bounds | None:
    """Bounds for the logistic mapping: the best as in `static_bounds`, the worst the tightest that is known.

    A logistic curve has a value below its worst bound, too, so that this can be the leaderboard's last score instead
    of a theoretical one that nobody comes near; it is never below a signed score of -100. None where nothing is known
    of the best, or where it is no better than the worst.

    Raises:
        UsageError: As for `static_bounds`.

    >>> anchored_bounds(higher_is_better=True, theoretical=(0.0, 1.0), leaderboard=(0.4, 0.95))
    Bounds(worst=0.4, best=1.0)
    """
    hull = static_bounds(higher_is_better=higher_is_better, theoretical=theoretical, leaderboard=leaderboard)
    ends = [
        _signed_range(theoretical, "theoretical", higher_is_better).worst,
        _signed_range(leaderboard, "leaderboard", higher_is_better).worst,
    ]
    worst = max([-FARTHEST_ANCHOR, *known(ends)])
    return None if hull.best is None or hull.best <= worst else Bounds(worst, hull.best)


def adaptive_bounds(
    history: Iterable[float | None],
    group: Iterable[float | None],
    *,
    higher_is_better: bool,
    static: StaticBounds = StaticBounds(),
    mode: BoundMode | str = "top1_top16",
    shift: float = LOWER_SHIFT,
    min_span: float = MIN_SPAN,
    max_span: float = MAX_SPAN,
) -> Bounds | None:
    """Bounds that follow what programs of this task have reached, so that rewards spread over scores that occur.

    OpenRSI paper: of all scores, sorted best first, x(1) is the best bound and x(16), or the last, the worst one,
    which is then lowered by a quarter of the span. Cut to the static bounds; where nothing remains, or nothing is
    known, the static bounds themselves.

    Args:
        history: Scores of earlier programs, as the metric gives them; missing and non-finite ones are left out.
        group: Scores of the programs that are compared now, likewise.
        higher_is_better: Direction of the metric.
        static: Signed, of the task (`task_bounds`, `static_bounds`).
        mode: Which score is the worst bound: the 16th, the 8th, the mean or the median of all; or ``theoretical``,
            the static bounds alone.
        shift: By which share of the span the worst bound is lowered.
        min_span: Least distance of the bounds; where scores tie, the best bound is raised to it.
        max_span: Greatest distance, counted from the best (`cap_span`).

    Returns:
        Signed bounds, or None where there are neither scores nor static bounds.

    Raises:
        UsageError: An unknown mode, a negative shift, spans that are not positive, no direction, static bounds of
            another type, or scores that are no numbers.

    >>> adaptive_bounds([0.5, 0.6], [0.7, 0.8], higher_is_better=True, static=StaticBounds(0.0, 1.0))
    Bounds(worst=0.425, best=0.8)
    """
    check_static(static)
    if mode not in BOUND_MODES:
        raise unknown_name("mode of adaptive bounds", mode, BOUND_MODES)
    at_least_zero(shift, "shift, by which the lower bound is lowered,")
    above_zero(min_span, "min_span")
    above_zero(max_span, "max_span")
    if min_span > max_span:
        raise UsageError(f"min_span {min_span!r} is greater than max_span {max_span!r}.")
    given = (*listed(history, "history"), *listed(group, "group"))
    scores = sorted(known(signed(score, higher_is_better=higher_is_better) for score in given), reverse=True)
    if mode == "theoretical" or not scores:
        return static.bounds(max_span=max_span)
    best = scores[0]
    worst = max(_worst(scores, mode), best - max_span)  # capped before, too, lest the span overflow
    worst -= shift * (best - worst)
    return _within(_at_least(worst, best, min_span), static, min_span, max_span)


def _worst(scores: Sequence[float], mode: str) -> float:
    """The worst bound before it is lowered; ``scores`` are signed and sorted best first."""
    if mode == "top1_all_mean":
        return min(scores[0], math.fsum(score / len(scores) for score in scores))
    if mode == "top1_all_median":
        return float(median(score / 2 for score in scores)) * 2  # halved, lest the sum of two overflow
    return scores[min(8 if mode == "top1_top8" else 16, len(scores)) - 1]


def _at_least(worst: float, best: float, min_span: float) -> Bounds:
    """Raise the best bound where the two are closer than ``min_span``."""
    if best - worst >= min_span:
        return Bounds(worst, best)
    raised = max(worst + min_span, math.nextafter(worst, math.inf))
    return Bounds(worst, raised) if math.isfinite(raised) else Bounds(math.nextafter(best, -math.inf), best)


def _within(bounds: Bounds, static: StaticBounds, min_span: float, max_span: float) -> Bounds | None:
    best = bounds.best if static.best is None else min(bounds.best, static.best)
    worst = bounds.worst if static.worst is None else max(bounds.worst, static.worst)
    cut = Bounds(worst, best)
    # Only what was cut can be too narrow; comparing the rest again would stumble over the last digit of min_span.
    if cut == bounds or best - worst >= min_span:
        return cap_span(cut, max_span=max_span)
    if static.worst is not None and static.best is not None:
        return static.bounds(max_span=max_span)
    # One end is known, and the scores lie at it or beyond.
    return _at_least(worst, worst, min_span) if static.best is None else _at_most(best, min_span)


def _at_most(best: float, min_span: float) -> Bounds:
    worst = min(best - min_span, math.nextafter(best, -math.inf))
    return Bounds(worst, best) if math.isfinite(worst) else Bounds(best, math.nextafter(best, math.inf))


def _signed_range(ends: object, name: str, higher_is_better: bool) -> StaticBounds:
    if not isinstance(ends, tuple | list) or len(ends) != 2:
        raise UsageError(f"The {name} range is a pair (least, greatest), None for an unknown end; not {ends!r}.")
    low, high = finite(ends[0]), finite(ends[1])
    if low is not None and high is not None and low > high:
        raise UsageError(f"The {name} range is upside down: least {low!r}, greatest {high!r}. State (least, greatest).")
    worst, best = (low, high) if higher_is_better else (high, low)
    return StaticBounds(
        signed(worst, higher_is_better=higher_is_better), signed(best, higher_is_better=higher_is_better)
    )
