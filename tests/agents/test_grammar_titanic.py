"""The whole path: the grammar agent plays a real task in a real box."""

from __future__ import annotations

from typing import TYPE_CHECKING

import gymnasium
import pytest

import openmle_env  # noqa: F401  registers the environments
from openmle_env.agents.episode import play
from openmle_env.agents.grammar import GrammarAgent
from openmle_env.types import ResultStatus

if TYPE_CHECKING:
    from pathlib import Path

    from openmle_env.sandbox.protocol import Sandbox


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENMLE_HOME", str(tmp_path / "home"))


@pytest.mark.bubblewrap
def test_eight_programs_on_titanic_are_valid_and_beat_the_sex_rule(bubblewrap: Sandbox) -> None:
    with gymnasium.make("OpenMLE/titanic-v0", sandbox=bubblewrap, programs=8) as env:
        episode = play(env, GrammarAgent(seed=0), seed=0)
    assert [attempt.outcome.status for attempt in episode.attempts] == [ResultStatus.SUCCESS] * 8
    assert all(attempt.outcome.execution.stderr == "" for attempt in episode.attempts)
    assert all("Final Validation Score: 0." in attempt.outcome.execution.stdout for attempt in episode.attempts)
    assert episode.fault is None
    assert episode.best is not None
    assert episode.final.validation_score == episode.best.outcome.score
    assert episode.final.test_score > 0.7943  # what "women survive, men do not" gets
