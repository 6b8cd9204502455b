"""Rewards of a score: pure functions, every one of them finite.

The usual order: a score is signed (higher is better) and placed between bounds (`static_bounds`, `adaptive_bounds`),
a mapping makes a number of it (`map_score` and the plain functions), a gap between validation and test may cost some of
it, and an operator's result is compared with its parent's (`operator_reward`). `normalized` and `improvement` are what
an environment's step gives.

Two conventions meet here and agree. `normalized` and `improvement` take a score as the metric gives it and two bounds
whose order (worse, better) holds the direction, such as a task's ``reward_bounds``. All other bounds are of signed
scores: `Bounds` with both ends known, `StaticBounds` where an end may be unknown; `task_bounds` makes a task's.
Negating a score and both bounds changes nothing:
``normalized(score, (worst, best)) == normalized(signed(score), Bounds(signed(worst), signed(best)))``.

A program without a score (None, NaN or infinite) never raises: it gets the value for missing scores. What is wrong in
the call (an unknown mode, an exponent of 0, no direction, a score that is a text) raises `UsageError`.
"""

from openmle_env.graders.rewards.adaptive import AdaptiveReward, adaptive_reward
from openmle_env.graders.rewards.bounds import (
    BOUND_MODES,
    Bounds,
    StaticBounds,
    adaptive_bounds,
    anchored_bounds,
    cap_span,
    static_bounds,
)
from openmle_env.graders.rewards.mappings import (
    MAPPING_MODES,
    leaderboard_rank,
    linear_sign,
    logistic,
    map_score,
    margin_tanh,
    medal_binary,
    online_percentile,
    power_clip,
    power_sigmoid,
)
from openmle_env.graders.rewards.operators import OPERATOR_POLICIES, OperatorReward, Parent, operator_reward
from openmle_env.graders.rewards.published import PublishedComparison, compare_published
from openmle_env.graders.rewards.scores import finite, signed
from openmle_env.graders.rewards.shares import improvement, normalized
from openmle_env.graders.rewards.task_bounds import task_bounds
from openmle_env.graders.rewards.validation_gap import PenalizedReward, ValidationGap, penalize_gap, validation_gap

__all__ = [
    "BOUND_MODES",
    "MAPPING_MODES",
    "OPERATOR_POLICIES",
    "AdaptiveReward",
    "Bounds",
    "OperatorReward",
    "Parent",
    "PenalizedReward",
    "PublishedComparison",
    "StaticBounds",
    "ValidationGap",
    "adaptive_bounds",
    "adaptive_reward",
    "anchored_bounds",
    "cap_span",
    "compare_published",
    "finite",
    "improvement",
    "leaderboard_rank",
    "linear_sign",
    "logistic",
    "map_score",
    "margin_tanh",
    "medal_binary",
    "normalized",
    "online_percentile",
    "operator_reward",
    "penalize_gap",
    "power_clip",
    "power_sigmoid",
    "signed",
    "static_bounds",
    "task_bounds",
    "validation_gap",
]
