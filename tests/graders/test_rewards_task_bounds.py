"""The static bounds of a task: of its metric and its board, and of its own reward bounds where those say nothing."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from openmle_env.errors import PackError, UnknownNameError, UsageError
from openmle_env.graders import metrics
from openmle_env.graders.medals import Leaderboard
from openmle_env.graders.rewards import (
    StaticBounds,
    adaptive_bounds,
    adaptive_reward,
    map_score,
    normalized,
    static_bounds,
    task_bounds,
)
from openmle_env.types import Column, Limits, SubmissionSchema, TaskSpec

LOSS = TaskSpec(
    slug="cats",
    version="1",
    title="Cats",
    description="",
    modality="tabular",
    task_type="regression",
    metric="rmse",
    higher_is_better=False,
    submission=SubmissionSchema(id=Column(name="id", kind="integer"), targets=(Column(name="y", kind="number"),)),
    files=(),
    programs=4,
    seconds=60.0,
    limits=Limits(),
    reward_bounds=(4.0, 0.5),
)
ACCURACY = replace(LOSS, metric="accuracy", higher_is_better=True, reward_bounds=(0.6, 0.9))
PACK = replace(LOSS, metric="pack")


# By hand. RMSE is at least 0 and has no greatest value; accuracy lies in [0, 1]; a pack's own metric says nothing.
@pytest.mark.parametrize(
    ("spec", "board", "bounds"),
    [
        (LOSS, None, (-4.0, 0.0)),
        (LOSS, [1.0, 9.0], (-9.0, 0.0)),
        (ACCURACY, None, (0.0, 1.0)),
        (ACCURACY, [0.7, 0.8], (0.0, 1.0)),
        (PACK, None, (-4.0, -0.5)),
        (PACK, [1.0, 9.0, 2.0], (-9.0, -1.0)),
        (replace(PACK, higher_is_better=True, reward_bounds=(0.25, 0.75)), None, (0.25, 0.75)),
        (replace(LOSS, metric="root_mean_squared_error"), None, (-4.0, 0.0)),
    ],
)
def test_bounds_of_a_task(spec: TaskSpec, board: list[float] | None, bounds: tuple[float, float]) -> None:
    leaderboard = None if board is None else Leaderboard(board, higher_is_better=spec.higher_is_better)
    assert task_bounds(spec, leaderboard) == StaticBounds(*bounds)


def test_they_reward_what_the_environment_rewards_where_only_the_reward_bounds_are_known() -> None:
    bounds = task_bounds(PACK).bounds()
    for loss in (9.0, 4.0, 2.25, 0.5, 0.0):
        got = map_score(loss, mode="power_clip", higher_is_better=False, bounds=bounds)
        assert got == normalized(loss, PACK.reward_bounds)


def test_the_bounds_in_a_loss_tasks_specification_are_not_taken_for_signed_ones() -> None:
    with pytest.raises(
        UsageError, match=r"worst static bound, 4\.0, is above the best, 0\.5.*negate both.*task_bounds"
    ):
        StaticBounds(*LOSS.reward_bounds)
    found = adaptive_bounds([], [], higher_is_better=False, static=task_bounds(LOSS))
    assert found == (-4.0, 0.0)
    reward = adaptive_reward(1.0, higher_is_better=False, history=[], group=[1.0, 3.0], static=task_bounds(LOSS)).reward
    assert reward == 1.0


def test_a_direction_that_contradicts_the_board_is_refused() -> None:
    with pytest.raises(UsageError, match="higher_is_better=True, the task cats False"):
        task_bounds(LOSS, Leaderboard([1.0], higher_is_better=True))


def test_reward_bounds_that_the_metric_cannot_give_are_the_tasks_fault() -> None:
    with pytest.raises(PackError, match=r"reward bounds of cats, \(-2\.0, -3\.0\).*rmse"):
        task_bounds(replace(LOSS, reward_bounds=(-2.0, -3.0)))


def test_arguments_of_another_type_are_refused() -> None:
    spec: Any = LOSS.reward_bounds
    with pytest.raises(UsageError, match=r"env\.unwrapped\.task_spec"):
        task_bounds(spec)
    board: Any = [1.0, 2.0]
    with pytest.raises(UsageError, match="read_leaderboard"):
        task_bounds(LOSS, board)
    with pytest.raises(UnknownNameError, match="rmse"):
        task_bounds(replace(LOSS, metric="rmsee"))


def test_a_metric_with_two_limits_gives_both() -> None:
    for name in metrics.names():
        found = metrics.get(name)
        low, high = found.range
        spec = replace(
            LOSS, metric=name, higher_is_better=found.higher_is_better, reward_bounds=found.range, metric_parameters={}
        )
        if not found.higher_is_better:
            spec = replace(spec, reward_bounds=(high, low))
        if np.isfinite(low) and np.isfinite(high):
            assert task_bounds(spec) == static_bounds(
                higher_is_better=found.higher_is_better, theoretical=(low, high)
            ), name
