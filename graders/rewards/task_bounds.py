"""The static bounds of a task, signed: what its metric, its leaderboard and its own reward bounds say."""

from __future__ import annotations

from openmle_env.errors import PackError, UsageError
from openmle_env.graders.medals import Leaderboard
from openmle_env.graders.rewards.bounds import StaticBounds, static_bounds
from openmle_env.graders.rewards.scores import need_instance, signed
from openmle_env.types import TaskSpec


def task_bounds(spec: TaskSpec, leaderboard: Leaderboard | None = None) -> StaticBounds:
    """The hull of the metric's range and of the leaderboard's scores (`static_bounds`; OpenRSI paper, Eq. 7).

    An end that neither knows, such as the worst of a loss without a leaderboard, is that of the task's
    ``reward_bounds``: those are always known.

    Args:
        spec: Of the task (``env.unwrapped.task_spec``). Its direction gives the sign.
        leaderboard: Of the task, if it has one.

    Raises:
        PackError: The task's reward bounds contradict the range of its metric or the leaderboard.
        UsageError: An argument is of another type, or the leaderboard of the other direction.
        UnknownNameError: There is no metric of the task's name.
    """
    from openmle_env.graders import metrics  # all of them, which nothing else here needs

    need_instance(spec, TaskSpec, "A task's bounds are made of its TaskSpec: env.unwrapped.task_spec.")
    theoretical = (None, None) if spec.metric == "pack" else metrics.get(spec.metric).range
    ends: tuple[float | None, float | None] = (None, None)
    if leaderboard is not None:
        need_instance(leaderboard, Leaderboard, "The leaderboard is a Leaderboard (`read_leaderboard` makes one).")
        if leaderboard.higher_is_better != spec.higher_is_better:
            raise UsageError(
                f"The leaderboard says higher_is_better={leaderboard.higher_is_better}, the task {spec.slug} "
                f"{spec.higher_is_better}. Make the board with the task's direction."
            )
        scores = leaderboard.best_first
        ends = (float(scores.min()), float(scores.max()))
    hull = static_bounds(higher_is_better=spec.higher_is_better, theoretical=theoretical, leaderboard=ends)
    worst, best = (signed(end, higher_is_better=spec.higher_is_better) for end in spec.reward_bounds)
    try:
        return StaticBounds(worst if hull.worst is None else hull.worst, best if hull.best is None else hull.best)
    except UsageError:
        raise PackError(
            f"The reward bounds of {spec.slug}, {spec.reward_bounds!r}, lie outside of what its metric {spec.metric} "
            "and its leaderboard can give. Correct `rewards` in its pack.yaml."
        ) from None
