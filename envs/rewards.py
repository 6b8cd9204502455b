"""The reward of one step, from the validation score. Only ever called where the agent is the one to be scored."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from openmle_env.errors import UsageError
from openmle_env.graders.rewards import improvement, normalized

if TYPE_CHECKING:
    from openmle_env.graders.medals import Leaderboard

Reward = Literal["normalized", "score", "improvement", "medal", "rank"]

OF_A_BOARD: tuple[Reward, ...] = ("medal", "rank")
"""Rewards that only a task with a leaderboard has."""


def step_reward(
    kind: Reward,
    *,
    score: float | None,
    previous_best: float | None,
    bounds: tuple[float, float],
    higher_is_better: bool,
    leaderboard: Leaderboard | None = None,
) -> float:
    """Turn a validation score into a reward.

    - ``normalized``: where the score lies between the task's two bounds; 0 for a program without a score.
    - ``improvement``: by how much the program raised the best ``normalized`` value of the episode, never negative,
      so that an episode's rewards add up to the ``normalized`` value of its best program.
    - ``score``: the score itself, negated where lower is better. A program without a score gets the worse bound,
      but never more than 0: a failure should not beat a poor success.
    - ``medal``: 1 where the score would win a medal on the task's leaderboard, else 0; 0 without a score.
    - ``rank``: the share of the leaderboard's teams that the score beats (its human rank); 0 without a score.

    Args:
        kind: One of these five.
        score: The program's validation score, or None where it has none.
        previous_best: Best validation score of the episode before this program, or None.
        bounds: Scores that stand for 0 and 1 (`openmle_env.types.TaskSpec.reward_bounds`).
        higher_is_better: Direction of the metric.
        leaderboard: Of the task, for ``medal`` and ``rank``.

    Raises:
        UsageError: The reward is one of a leaderboard, and there is none.
    """
    if kind in OF_A_BOARD:
        if leaderboard is None:
            raise UsageError(f"reward={kind!r} needs a task with a leaderboard, and this one has none.")
        if score is None:
            return 0.0
        place = leaderboard.place(score)
        return place.human_rank if kind == "rank" else float(place.medal is not None)
    if kind == "score":
        sign = 1.0 if higher_is_better else -1.0
        return sign * score if score is not None else min(0.0, sign * bounds[0])
    if score is None:
        return 0.0
    return normalized(score, bounds) if kind == "normalized" else improvement(score, previous_best, bounds)
