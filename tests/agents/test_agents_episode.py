from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import gymnasium
import pytest

from openmle_env.agents.episode import play
from openmle_env.agents.grammar import GrammarAgent
from openmle_env.agents.protocol import Agent, Attempt
from openmle_env.envs.observation import action_space, observation, observation_space
from openmle_env.errors import UsageError
from openmle_env.types import Fault, Outcome, ResultStatus, TaskSpec
from tests.agents.grammar_tasks import make_outcome, make_spec


class ScriptedEnv(gymnasium.Env[dict[str, Any], str]):
    """Answers the programs of an episode with given scores or failures."""

    def __init__(self, spec: TaskSpec, results: list[float | ResultStatus], *, tells: bool = True) -> None:
        self.task_spec = spec
        self.observation_space = observation_space()
        self.action_space = action_space()
        self.results = results
        self.tells = tells
        self.seeds: list[int | None] = []
        self.steps = 0
        self.closed = False
        self.options = SimpleNamespace(feedback="validation")

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[dict[str, Any], Any]:
        super().reset(seed=seed)
        self.seeds.append(seed)
        self.steps = 0
        return observation(task="", programs_left=len(self.results), seconds_left=1.0), {}

    def step(self, action: str) -> tuple[dict[str, Any], float, bool, bool, dict[str, Any]]:
        result = self.results[self.steps]
        self.steps += 1
        score = None if isinstance(result, ResultStatus) else result
        status = result if isinstance(result, ResultStatus) else ResultStatus.SUCCESS
        outcome = make_outcome(action, self.steps, score=score, status=status)
        info: dict[str, Any] = {"outcome": outcome}
        faulty = status.fault is Fault.INFRASTRUCTURE
        if faulty:
            info["fault"] = status.fault.value
        done = self.steps == len(self.results)
        if done:
            info["final"] = "the test part"
        shown = observation(
            task="",
            status=status,
            score=score if self.tells else None,
            programs_left=len(self.results) - self.steps,
            seconds_left=1.0,
        )
        return shown, outcome.reward, done and not faulty, faulty, info

    def close(self) -> None:
        self.closed = True


class Echo:
    """Proposes numbered programs and keeps the histories that it was shown."""

    name = "echo"

    def __init__(self) -> None:
        self.histories: list[tuple[Attempt, ...]] = []

    def propose(self, spec: TaskSpec, history: Any) -> str:
        self.histories.append(tuple(history))
        return f"program {len(history) + 1}"


def test_plays_until_terminated_and_reports_everything() -> None:
    env = ScriptedEnv(make_spec(), [0.25, ResultStatus.TIMEOUT, 0.75, 0.75])
    seen: list[Attempt] = []
    episode = play(env, Echo(), seed=5, on_step=seen.append)
    assert env.seeds == [5]
    assert [attempt.program for attempt in episode.attempts] == [f"program {i}" for i in (1, 2, 3, 4)]
    assert seen == list(episode.attempts)
    assert episode.best is episode.attempts[2]
    assert episode.total_reward == 1.75
    assert episode.final == "the test part"
    assert not episode.truncated
    assert episode.fault is None
    assert not env.closed


def test_lower_is_better_chooses_the_smallest() -> None:
    env = ScriptedEnv(make_spec(higher_is_better=False), [0.5, 0.25, 0.75])
    best = play(env, Echo()).best
    assert best is not None
    assert best.outcome.score == 0.25


def test_infrastructure_fault_truncates() -> None:
    env = ScriptedEnv(make_spec(), [0.5, ResultStatus.SANDBOX_UNCONFIRMED, 0.9])
    episode = play(env, Echo())
    assert episode.truncated
    assert episode.fault is Fault.INFRASTRUCTURE
    assert len(episode.attempts) == 2


def test_no_score_means_no_best() -> None:
    assert play(ScriptedEnv(make_spec(), [ResultStatus.TIMEOUT]), Echo()).best is None


def test_agent_is_not_shown_scores_that_the_environment_hides() -> None:
    agent = Echo()
    episode = play(ScriptedEnv(make_spec(), [0.25, 0.75], tells=False), agent)
    (told,) = agent.histories[1]
    assert told.outcome.score is None
    assert told.outcome.reward == 0.0
    assert told.outcome.status is ResultStatus.SUCCESS
    assert [attempt.outcome.score for attempt in episode.attempts] == [0.25, 0.75]


def test_without_feedback_the_agent_cannot_tell_valid_from_invalid() -> None:
    agent = Echo()
    env = ScriptedEnv(make_spec(), [0.25, 0.5], tells=False)
    env.options = SimpleNamespace(feedback="none")
    play(env, agent)
    (told,) = agent.histories[1]
    assert told.outcome.grade is None


def test_other_environments_are_refused() -> None:
    with gymnasium.make("CartPole-v1") as env, pytest.raises(UsageError, match="task_spec"):
        play(env, Echo())


def test_wrapped_environments_work() -> None:
    env = gymnasium.wrappers.RecordEpisodeStatistics(ScriptedEnv(make_spec(), [0.5, 0.5]))
    assert len(play(env, Echo()).attempts) == 2


def test_interrupt_passes_through_and_leaves_the_environment_to_its_owner() -> None:
    class Interrupted(Echo):
        def propose(self, spec: TaskSpec, history: Any) -> str:
            raise KeyboardInterrupt

    env = ScriptedEnv(make_spec(), [0.5])
    with pytest.raises(KeyboardInterrupt):
        play(env, Interrupted())
    assert not env.closed


def test_grammar_agent_is_an_agent_and_plays() -> None:
    agent = GrammarAgent(seed=3)
    assert isinstance(agent, Agent)
    assert agent.name == "grammar"
    env = ScriptedEnv(make_spec(), [0.5, 0.6, ResultStatus.CODE_EXECUTION_ERROR, 0.7, 0.8, 0.7, 0.9, 0.1])
    episode = play(env, agent)
    assert len({attempt.program for attempt in episode.attempts}) == 8
    assert isinstance(episode.attempts[0].outcome, Outcome)
