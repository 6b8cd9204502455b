"""The reward of one step, from the validation score. Only ever called where the agent is the one to be scored."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from openmle_env.errors import UsageError
from openmle_env.graders.rewards import improvement, medal_binary, normalized

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
    - ``rank``: the share of the leaderboard's teams that the score beats (its human rank); 0 without a score. A team
      that it ties with is not beaten; in `openmle_env.graders.rewards.leaderboard_rank` ties do not count against it.

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
        return leaderboard.place(score).human_rank if kind == "rank" else medal_binary(score, leaderboard)
    if kind == "score":
        sign = 1.0 if higher_is_better else -1.0
        # Adding 0 makes a plain 0.0 of the -0.0 that a perfect loss would give.
        return sign * score + 0.0 if score is not None else min(0.0, sign * bounds[0])
    if score is None:
        return 0.0
    return normalized(score, bounds) if kind == "normalized" else improvement(score, previous_best, bounds)


def reward_words(kind: Reward, bounds: tuple[float, float], *, higher_is_better: bool) -> str:
    """What an agent is told of `step_reward`, in sentences; of a leaderboard it learns that there is one.

    >>> reward_words("score", (10.0, 0.0), higher_is_better=False)
    'The reward of a program is its validation score, negated since lower is better; without a score it is -10.'
    """
    worst, best = bounds
    match kind:
        case "normalized":
            said = f"A score of {worst:g} is worth reward 0, one of {best:g} reward 1"
            return f"{said}; a program without a score gets 0."
        case "improvement":
            said = f"A score of {worst:g} is worth 0 and one of {best:g} is worth 1"
            return f"{said}; the reward of a program is by how much it raises the worth of the best score so far."
        case "score":
            sign = 1.0 if higher_is_better else -1.0
            negated = "" if higher_is_better else ", negated since lower is better"
            without = f"without a score it is {min(0.0, sign * worst):g}"
            return f"The reward of a program is its validation score{negated}; {without}."
        case "medal":
            won = "1 where its validation score would win a medal on the competition's leaderboard, else 0"
            return f"The reward of a program is {won}."
        case "rank":
            teams = "the share of the teams on the competition's leaderboard that its validation score beats"
            return f"The reward of a program is {teams}; without a score it is 0."
