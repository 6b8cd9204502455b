"""The reward of one program of a group, between bounds that follow what the group and its history reached."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from openmle_env.errors import UsageError
from openmle_env.graders.rewards.bounds import (
    LOWER_SHIFT,
    MAX_SPAN,
    MIN_SPAN,
    BoundMode,
    Bounds,
    StaticBounds,
    adaptive_bounds,
)
from openmle_env.graders.rewards.mappings import BETWEEN_BOUNDS, MAPPING_MODES, MappingMode, map_score
from openmle_env.graders.rewards.scores import finite, listed

if TYPE_CHECKING:
    from collections.abc import Iterable


class AdaptiveReward(NamedTuple):
    """A reward, and the signed bounds that it was spread over (None where there were none)."""

    reward: float
    bounds: Bounds | None


def adaptive_reward(
    score: float | None,
    *,
    higher_is_better: bool,
    history: Iterable[float | None],
    group: Iterable[float | None],
    static: StaticBounds = StaticBounds(),  # noqa: B008  immutable
    bound_mode: BoundMode | str = "top1_top16",
    mapping: MappingMode | str = "power_clip",
    alpha: float | None = None,
    single: float | None = 1.0,
    shift: float = LOWER_SHIFT,
    min_span: float = MIN_SPAN,
    max_span: float = MAX_SPAN,
) -> AdaptiveReward:
    """The processed reward of the OpenRSI paper: Eq. 1 with adaptive bounds in place of the static ones.

    The default mode, mapping, ``alpha`` and ``shift`` are the paper's. The spans are settings of OpenRSI's released
    code; so is ``single`` for one score, and for several equal ones it is our own.

    Args:
        score: The program's score as the metric gives it, or None; missing and non-finite ones get 0.
        higher_is_better: Direction of the metric.
        history: Scores of earlier programs of the task, likewise.
        group: Scores of the programs that are compared now, this one's among them.
        static: Signed, of the task (`task_bounds`, `static_bounds`).
        bound_mode: As for `adaptive_bounds`.
        mapping: One of the four that use bounds, as for `map_score`.
        alpha: As for `map_score`.
        single: Reward where all finite scores of history and group are equal to this one (or it is the only one):
            it is the best and the worst at once, and bounds made of it would give 0, as a failure gets, to the first
            program that works and to every one that ties with it. None: use those bounds all the same. Without effect
            in mode ``theoretical``, whose bounds need no scores.
        shift: As for `adaptive_bounds`.
        min_span: As for `adaptive_bounds`.
        max_span: As for `adaptive_bounds`.

    Raises:
        UsageError: As for `adaptive_bounds` and `map_score`, or the mapping uses no bounds.

    >>> adaptive_reward(3.0, higher_is_better=True, history=[1.0], group=[3.0, 5.0])
    AdaptiveReward(reward=0.6, bounds=Bounds(worst=0.0, best=5.0))
    """
    if mapping in MAPPING_MODES and mapping not in BETWEEN_BOUNDS:
        raise UsageError(f"The mapping {mapping!r} uses no bounds. Use {', '.join(BETWEEN_BOUNDS)}, or `map_score`.")
    earlier, now = listed(history, "history"), listed(group, "group")
    bounds = adaptive_bounds(
        earlier,
        now,
        higher_is_better=higher_is_better,
        static=static,
        mode=bound_mode,
        shift=shift,
        min_span=min_span,
        max_span=max_span,
    )
    reward = map_score(score, mode=mapping, higher_is_better=higher_is_better, bounds=bounds, alpha=alpha)
    if single is not None and finite(single) is None:
        raise UsageError(f"The reward of a single score is a finite number or None, not {single!r}.")
    if single is not None and bound_mode != "theoretical":
        values = {finite(each) for each in (*earlier, *now)} - {None}
        if values == {finite(score)}:
            reward = float(single)
    return AdaptiveReward(reward, bounds)
