"""The reward of one step, from the validation score. Only ever called where the agent is the one to be scored."""

from __future__ import annotations

from typing import Literal

from openmle_env.graders.rewards import improvement, normalized

Reward = Literal["normalized", "score", "improvement"]


def step_reward(
    kind: Reward,
    *,
    score: float | None,
    previous_best: float | None,
    bounds: tuple[float, float],
    higher_is_better: bool,
) -> float:
    """Turn a validation score into a reward.

    - ``normalized``: where the score lies between the task's two bounds; 0 for a program without a score.
    - ``improvement``: by how much the program raised the best ``normalized`` value of the episode, never negative,
      so that an episode's rewards add up to the ``normalized`` value of its best program.
    - ``score``: the score itself, negated where lower is better. A program without a score gets the worse bound,
      but never more than 0: a failure should not beat a poor success.

    Args:
        kind: One of these three.
        score: The program's validation score, or None where it has none.
        previous_best: Best validation score of the episode before this program, or None.
        bounds: Scores that stand for 0 and 1 (`openmle_env.types.TaskSpec.reward_bounds`).
        higher_is_better: Direction of the metric.
    """
    if kind == "score":
        sign = 1.0 if higher_is_better else -1.0
        return sign * score if score is not None else min(0.0, sign * bounds[0])
    if score is None:
        return 0.0
    return normalized(score, bounds) if kind == "normalized" else improvement(score, previous_best, bounds)
