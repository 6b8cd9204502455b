from __future__ import annotations

import threading
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from openmle_env.envs import actions, runner
from openmle_env.envs.deadline import Deadline
from openmle_env.envs.rewards import step_reward
from openmle_env.sandbox.protocol import CancelToken
from openmle_env.types import Job, ResultStatus
from tests.envs.tiny import Box

if TYPE_CHECKING:
    from openmle_env.envs.rewards import Reward

BLANKS = st.text(" \t\n", max_size=3)


@given(st.text(st.characters(codec=None), max_size=60))
def test_any_text_is_a_program_or_ends_the_episode(text: str) -> None:
    finish, choice = actions.parse_finish(text)
    assert actions.is_program(text) is not finish
    assert choice is None


@given(BLANKS, st.text(" \t", min_size=1, max_size=3), st.integers(0, 999_999_999), BLANKS)
def test_a_choice_is_read_with_any_blanks(before: str, between: str, number: int, after: str) -> None:
    assert actions.parse_finish(f"{before}{actions.FINISH}{between}{number}{after}") == (True, number)
    assert actions.parse_finish(f"{before}{actions.FINISH}{after}") == (True, None)


def test_what_is_no_text_is_no_program() -> None:
    assert not actions.is_program(3)


def test_nothing_is_tried_again_once_the_time_is_spent() -> None:
    box = Box()
    with Deadline(60, CancelToken()) as deadline:
        execution = runner.execute(box, Job(program="raise"), deadline=deadline, seconds=0)
    assert (execution.status, execution.reason) == (ResultStatus.SANDBOX_UNCONFIRMED, "The engine is gone.")
    assert len(box.jobs) == 1


def test_cancelling_ends_the_wait_for_another_attempt(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runner, "RETRY_PAUSES", (3600.0,))
    box, cancel = Box(), CancelToken()
    box.meet = threading.Timer(0.05, cancel.cancel).start
    with Deadline(1e6, cancel) as deadline:
        execution = runner.execute(box, Job(program="raise"), deadline=deadline, seconds=1e9)
    assert execution.status is ResultStatus.SANDBOX_UNCONFIRMED
    assert len(box.jobs) == 1


@pytest.mark.parametrize(
    ("kind", "score", "best", "expected"),
    [
        ("normalized", 0.75, None, 0.5),
        ("normalized", 0.2, None, 0.0),
        ("normalized", None, 0.9, 0.0),
        ("improvement", 0.75, None, 0.5),
        ("improvement", 1.0, 0.75, 0.5),
        ("improvement", 0.6, 0.75, 0.0),
        ("improvement", None, None, 0.0),
        ("score", 0.75, None, 0.75),
        ("score", None, 0.75, 0.0),
    ],
)
def test_rewards_where_higher_is_better(kind: Reward, score: float | None, best: float | None, expected: float) -> None:
    reward = step_reward(kind, score=score, previous_best=best, bounds=(0.5, 1.0), higher_is_better=True)
    assert reward == expected


@pytest.mark.parametrize(
    ("kind", "score", "best", "expected"),
    [
        ("normalized", 1.0, None, 0.75),
        ("improvement", 1.0, 2.0, 0.25),
        ("score", 1.5, None, -1.5),
        ("score", None, 1, -4.0),
    ],
)
def test_rewards_where_lower_is_better(kind: Reward, score: float | None, best: float | None, expected: float) -> None:
    reward = step_reward(kind, score=score, previous_best=best, bounds=(4.0, 0.0), higher_is_better=False)
    assert reward == expected
