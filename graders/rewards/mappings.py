"""From a signed score to a reward: eight shapes, and `map_score`, which picks one by its name.

Every function here is monotone in the score: a better one never gets less.

Signed or not: `power_clip`, `power_sigmoid`, `logistic`, `margin_tanh`, `online_percentile` and `linear_sign` take
signed scores and signed `Bounds` (lower is better: both negated, see `signed`). `medal_binary`, `leaderboard_rank` and
`map_score` take the score as the metric gives it; the bounds of `map_score` are signed all the same.

Only `power_clip` is a formula of the OpenRSI paper (Frontis-MA1), its Eq. 1. The other names are those of modes in
OpenRSI's released code, of which we know no published formula, so that the shapes here are our own choice. Those of
`power_sigmoid`, `logistic`, `margin_tanh` and `leaderboard_rank` give the numbers that we have of that code; so does
`linear_sign`, but for a perfect loss of 0, which is the best score here. `online_percentile` and `medal_binary` were
compared with nothing.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Literal, get_args

from openmle_env.errors import UsageError, unknown_name
from openmle_env.graders.medals import Leaderboard
from openmle_env.graders.rewards.bounds import Bounds, check_bounds
from openmle_env.graders.rewards.scores import above_zero, finite, listed, need_instance, signed
from openmle_env.graders.rewards.shares import normalized, position

if TYPE_CHECKING:
    from collections.abc import Iterable

MappingMode = Literal[
    "power_clip",
    "power_sigmoid",
    "logistic",
    "margin_tanh",
    "online_percentile",
    "linear_sign",
    "medal_binary",
    "leaderboard_rank",
]
MAPPING_MODES: tuple[str, ...] = get_args(MappingMode)
_ON_A_BOARD = ("medal_binary", "leaderboard_rank")
BETWEEN_BOUNDS: tuple[str, ...] = ("power_clip", "power_sigmoid", "logistic", "margin_tanh")
"""The modes that use bounds."""

WithoutBounds = Literal["zero", "sigmoid"]


def power_clip(score: float, bounds: Bounds, *, alpha: float = 1.0) -> float:
    """The share of the bounds that is reached, clipped to [0, 1], to the power ``alpha``.

    OpenRSI paper, Eq. 1; its released configuration has alpha 1. A higher one favours the top.

    Args:
        score: Signed score: a loss is negated.
        bounds: Signed bounds, so not a task's ``reward_bounds``; `normalized` takes those and a raw score.
        alpha: Exponent, above 0.

    Raises:
        UsageError: A number is not finite, ``alpha`` is not above 0, the bounds are not `Bounds`, or the worst is not
            below the best.

    >>> power_clip(0.75, Bounds(0.5, 1.0), alpha=2.0)
    0.25
    """
    check_bounds(bounds)
    return float(normalized(score, bounds) ** _exponent(alpha))


def power_sigmoid(score: float, bounds: Bounds, *, temperature: float = 0.5, alpha: float = 2.0) -> float:
    """sigmoid((p - 1/2) / temperature) ** alpha, where p is the place between the bounds, not clipped.

    Signed score, signed bounds. In (0, 1). The worst bound gets more than 0 (with the defaults 0.072), the best less
    than 1, and scores beyond either are still told apart.

    Raises:
        UsageError: As for `power_clip`, or the temperature is not above 0.

    >>> round(power_sigmoid(0.5, Bounds(0.0, 1.0)), 6)
    0.25
    """
    check_bounds(bounds)
    above_zero(temperature, "temperature")
    return float(_sigmoid((position(score, bounds) - 0.5) / temperature) ** _exponent(alpha))


def logistic(score: float, bounds: Bounds) -> float:
    """sigmoid(2 p), where p is the place between the bounds, not clipped: 1/2 at the worst, 0.88 at the best.

    Signed score, signed bounds; meant for those of `anchored_bounds`.

    Raises:
        UsageError: As for `power_clip`.

    >>> logistic(0.4, Bounds(0.4, 1.0)), round(logistic(1.0, Bounds(0.4, 1.0)), 3)
    (0.5, 0.881)
    """
    check_bounds(bounds)
    return _sigmoid(2.0 * position(score, bounds))


def margin_tanh(score: float, bounds: Bounds, *, width: float = 0.25, alpha: float = 2.0) -> float:
    """((1 + tanh((p - 1/2) / width)) / 2) ** alpha: the margin over the middle of the bounds, squashed.

    Signed score, signed bounds. In [0, 1]. p is the place between the bounds, not clipped.

    Raises:
        UsageError: As for `power_clip`, or the width is not above 0.

    >>> margin_tanh(0.5, Bounds(0.0, 1.0))
    0.25
    """
    check_bounds(bounds)
    above_zero(width, "width")
    return float(((1.0 + math.tanh((position(score, bounds) - 0.5) / width)) / 2.0) ** _exponent(alpha))


def online_percentile(score: float, references: Iterable[float | None]) -> float:
    """The share of the signed ``references`` that the score beats, ties counted half; 1/2 where there are none.

    References that are missing or not finite are left out.

    Raises:
        UsageError: The score is not a finite number, or a reference is no number.

    >>> online_percentile(0.5, [0.1, 0.5, 0.7, None])
    0.5
    """
    number = _score(score)
    known = [reference for reference in map(finite, listed(references, "references")) if reference is not None]
    if not known:
        return 0.5
    beaten = sum(reference < number for reference in known)
    tied = sum(reference == number for reference in known)
    return (beaten + tied / 2) / len(known)


def linear_sign(score: float) -> float:
    """The signed score itself.

    Raises:
        UsageError: It is not a finite number.

    >>> linear_sign(-0.25)
    -0.25
    """
    return _score(score)


def medal_binary(score: float, board: Leaderboard) -> float:
    """1 for a medal of any kind, else 0; ``score`` is as the metric gives it, since the board knows its direction.

    Raises:
        UsageError: The score is not a finite number.
    """
    _check_board(board)
    return 0.0 if board.place(score).medal is None else 1.0


def leaderboard_rank(score: float, board: Leaderboard) -> float:
    """1 - b / (n - 1), at least 0, where b of the board's n teams are strictly better than ``score``.

    ``score`` is as the metric gives it. 1 for the first place, 0 for the last and for what is worse. On a board of one
    team: 1, or 0 where it is better.

    This is the rule of OpenRSI's released code. It is not the environment's ``reward="rank"``, the share of the teams
    that are beaten (`Place.human_rank`, as MLE-bench counts): there teams that tie with the score are not beaten, so
    that the first place ties with itself and gets (n - 1) / n; here they do not count against it.

    Raises:
        UsageError: The score is not a finite number.
    """
    _check_board(board)
    place = board.place(score)
    return max(0.0, 1.0 - (place.rank - 1) / max(1, place.teams - 1))


def map_score(
    score: float | None,
    *,
    mode: MappingMode | str,
    higher_is_better: bool,
    bounds: Bounds | None = None,
    alpha: float | None = None,
    temperature: float = 0.5,
    width: float = 0.25,
    references: Iterable[float | None] = (),
    leaderboard: Leaderboard | None = None,
    missing: float | None = None,
    without_bounds: WithoutBounds | str = "zero",
) -> float:
    """The reward of a score, by the mapping that ``mode`` names.

    Args:
        score: As the metric gives it; None, NaN or infinite for a program without one.
        mode: One of `MAPPING_MODES`, each a function of this module.
        higher_is_better: Direction of the metric.
        bounds: Signed bounds; used by power_clip, power_sigmoid, logistic and margin_tanh.
        alpha: Exponent of power_clip (1 if None), power_sigmoid and margin_tanh (2 if None).
        temperature: Of power_sigmoid.
        width: Of margin_tanh.
        references: Scores as the metric gives them; used by online_percentile.
        leaderboard: Used by medal_binary and leaderboard_rank, which need it.
        missing: Reward of a missing score. By default 0, the least of every mode but linear_sign. There it is the worst
            bound if that is below 0, so that no failure beats a poor loss; without bounds, state it.
        without_bounds: What a mode gives that uses bounds and has none: ``zero``, or ``sigmoid`` of the signed score.

    Returns:
        A finite number; in [0, 1] for every mode but linear_sign.

    Raises:
        UsageError: The configuration is wrong, whatever the score: an unknown mode, a number that should be above 0,
            bounds upside down or of another type, no leaderboard or one of the other direction. Or the score is no
            number, but a text for example.

    >>> map_score(1.25, mode="power_clip", higher_is_better=False, bounds=Bounds(-5.0, 0.0))
    0.75
    >>> map_score(None, mode="power_clip", higher_is_better=False, bounds=Bounds(-5.0, 0.0))
    0.0
    """
    value = signed(score, higher_is_better=higher_is_better)
    _check_mode(mode, higher_is_better, leaderboard)
    if without_bounds not in get_args(WithoutBounds):
        raise unknown_name("value for without_bounds", without_bounds, get_args(WithoutBounds))
    if bounds is not None:
        check_bounds(bounds)
    exponent = _exponent((1.0 if mode == "power_clip" else 2.0) if alpha is None else alpha)
    above_zero(temperature, "temperature")
    above_zero(width, "width")
    absent = _missing(missing, mode, bounds)
    if value is None:
        return absent
    if mode in _ON_A_BOARD and leaderboard is not None and score is not None:
        return (medal_binary if mode == "medal_binary" else leaderboard_rank)(float(score), leaderboard)
    if mode == "online_percentile":
        return online_percentile(
            value,
            [signed(each, higher_is_better=higher_is_better) for each in listed(references, "references")],
        )
    if mode == "linear_sign":
        return linear_sign(value)
    if bounds is None:
        return 0.0 if without_bounds == "zero" else _sigmoid(value)
    if mode == "power_clip":
        return power_clip(value, bounds, alpha=exponent)
    if mode == "power_sigmoid":
        return power_sigmoid(value, bounds, temperature=temperature, alpha=exponent)
    return logistic(value, bounds) if mode == "logistic" else margin_tanh(value, bounds, width=width, alpha=exponent)


def _check_mode(mode: str, higher_is_better: bool, leaderboard: Leaderboard | None) -> None:
    if mode not in MAPPING_MODES:
        raise unknown_name("reward mapping", mode, MAPPING_MODES)
    if mode in _ON_A_BOARD:
        if leaderboard is None:
            raise UsageError(f"The mapping {mode!r} needs a leaderboard.")
        _check_board(leaderboard)
        if leaderboard.higher_is_better != higher_is_better:
            raise UsageError(
                f"The leaderboard says higher_is_better={leaderboard.higher_is_better}, the call {higher_is_better}."
            )


def _check_board(board: Leaderboard) -> None:
    need_instance(board, Leaderboard, "The leaderboard is a Leaderboard (`read_leaderboard` makes one).")


def _missing(missing: float | None, mode: str, bounds: Bounds | None) -> float:
    if missing is not None:
        if finite(missing) is None:
            raise UsageError(f"The reward of a missing score is a finite number, not {missing!r}.")
        return float(missing)
    if mode != "linear_sign":
        return 0.0
    if bounds is None:
        raise UsageError("State what a missing score gets (missing=...), or bounds: 0 would beat every loss.")
    return min(0.0, bounds.worst)


def _score(score: float) -> float:
    number = finite(score)
    if number is None:
        raise UsageError(f"A score is a finite number, not {score!r}.")
    return number


def _exponent(alpha: float) -> float:
    above_zero(alpha, "alpha")
    return alpha


def _sigmoid(x: float) -> float:
    # Each step is monotone in floats, too, which exp(x) / (1 + exp(x)) is not; beyond 709 exp would overflow.
    return 1.0 / (1.0 + math.exp(min(-x, 709.0)))
