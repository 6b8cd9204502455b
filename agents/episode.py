"""Playing one episode: an agent and an environment, through the public Gymnasium API only."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from openmle_env.agents.protocol import Attempt
from openmle_env.errors import UsageError
from openmle_env.types import Fault, Outcome, TaskSpec

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    import gymnasium

    from openmle_env.agents.protocol import Agent


@dataclass(frozen=True, slots=True, kw_only=True)
class PlayedEpisode:
    """One finished episode."""

    attempts: tuple[Attempt, ...]
    """Every program and its outcome, in order."""
    best: Attempt | None
    """The attempt with the best validation score (the earliest of equals), or None where none has a score."""
    final: Any
    """``info["final"]`` of the last step as the environment gave it, or None: the selected program's test result."""
    total_reward: float
    truncated: bool
    """Whether the episode ended by its time budget or a fault, rather than by its budget of programs."""
    fault: Fault | None
    """Who has to act where a result, the final grade included, must not be scored as the agent's; else None."""


def best_of(attempts: Sequence[Attempt], *, higher_is_better: bool) -> Attempt | None:
    """The attempt with the best validation score, the earliest of equals; None where none has a score."""
    scored = [(attempt.outcome.score, attempt) for attempt in attempts if attempt.outcome.score is not None]
    if not scored:
        return None
    choose = max if higher_is_better else min
    return choose(scored, key=lambda pair: pair[0])[1]


def play(
    env: gymnasium.Env[Any, Any],
    agent: Agent,
    *,
    seed: int | None = None,
    on_step: Callable[[Attempt], None] | None = None,
) -> PlayedEpisode:
    """Let ``agent`` play one episode of ``env`` until it is terminated or truncated.

    The agent is told what the observations tell: where the environment's feedback hides scores or validity, the
    history that the agent gets lacks them, too, though the returned episode holds all.

    The environment stays open, whatever happens (Ctrl-C included): whoever made it closes it.

    Args:
        env: A task environment, wrapped or not.
        agent: Proposes the programs.
        seed: Passed to ``env.reset``.
        on_step: Called after each step with the new attempt.

    Raises:
        UsageError: ``env`` is not a task environment, or the agent cannot work on its task.
    """
    env.reset(seed=seed)
    spec = getattr(env.unwrapped, "task_spec", None)  # read after the reset: preparing a task lists its files
    if not isinstance(spec, TaskSpec):
        raise UsageError(f"{env} has no task_spec. Make the environment with gymnasium.make('OpenMLE/<task>-v0').")
    validity = getattr(getattr(env.unwrapped, "options", None), "feedback", "validation") != "none"
    attempts: list[Attempt] = []
    shown: list[Attempt] = []
    total, terminated, truncated = 0.0, False, False
    info: dict[str, Any] = {}
    while not (terminated or truncated):
        program = agent.propose(spec, tuple(shown))
        observation, reward, terminated, truncated, info = env.step(program)
        total += float(reward)
        outcome = info.get("outcome")
        if isinstance(outcome, Outcome):  # none comes with an action that only ends the episode
            attempts.append(Attempt(program, outcome))
            shown.append(_as_shown(attempts[-1], observation, validity=validity))
            if on_step is not None:
                on_step(attempts[-1])
    fault = info.get("fault")
    return PlayedEpisode(
        attempts=tuple(attempts),
        best=best_of(attempts, higher_is_better=spec.higher_is_better),
        final=info.get("final"),
        total_reward=total,
        truncated=truncated,
        fault=None if fault in {None, "", Fault.NONE} else Fault(fault),
    )


def _as_shown(attempt: Attempt, observation: object, *, validity: bool) -> Attempt:
    """The attempt as the observation tells it; without ``validity`` no grade is left, whatever it said."""
    if not isinstance(observation, Mapping) or not {"status", "has_score"} <= observation.keys():
        return attempt  # a wrapper made something else of it
    from openmle_env.envs.observation import STATUSES  # gymnasium and numpy come with it

    outcome = attempt.outcome
    status = STATUSES[int(observation["status"])] or outcome.status
    if not validity or status is not outcome.status:
        return Attempt(attempt.program, replace(outcome, status=status, grade=None, reward=0.0))
    if outcome.grade is not None and outcome.score is not None and not observation["has_score"]:
        return Attempt(attempt.program, replace(outcome, grade=replace(outcome.grade, score=None), reward=0.0))
    return attempt
