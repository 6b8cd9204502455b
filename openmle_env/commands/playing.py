"""Playing one episode for the command line: progress, the tables at the end, and the exit code."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from openmle_env.commands.console import (
    DONE,
    FAILED,
    INFRASTRUCTURE,
    console,
    emit,
    metric_name,
    near,
    number,
    progress,
    say,
    table,
)
from openmle_env.types import Fault, ResultStatus

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from openmle_env.agents.episode import PlayedEpisode
    from openmle_env.agents.protocol import Agent, Attempt
    from openmle_env.envs.task_env import FinalResult
    from openmle_env.sandbox.protocol import Sandbox
    from openmle_env.task_registry.lookup import Task
    from openmle_env.types import Feedback

TAIL_LINES = 12
"""How much of a failed program's error output is shown."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Order:
    """What was asked for on the command line."""

    player: Agent
    programs: int | None
    strict: bool
    """Whether every program has to succeed, rather than one of them."""
    seed: int
    feedback: Feedback
    runs: Path
    as_json: bool


def play_one(task: Task, box: Sandbox, order: Order) -> int:
    """Play an episode, record it, print what came of it, and return the exit code.

    Raises:
        InfrastructureError: The episode could not be recorded, or no program could be run.
        UsageError: The agent cannot work on this task.
    """
    from openmle_env.agents.episode import play  # only the command that runs pays for gymnasium
    from openmle_env.envs.recording import EpisodeRecorder
    from openmle_env.envs.task_env import TaskEnv

    made = TaskEnv(task.pack.root, sandbox=box, feedback=order.feedback, programs=order.programs)
    env = EpisodeRecorder(made, order.runs)
    total = order.programs or task.spec.programs
    attempts: list[Attempt] = []
    try:
        with progress(task.spec.slug) as report:
            report(f"0/{total} starting", 0.0)

            def on_step(attempt: Attempt) -> None:
                attempts.append(attempt)
                report(_live(attempts, total, higher_is_better=task.spec.higher_is_better), len(attempts) / total)

            episode = play(env, order.player, seed=order.seed, on_step=on_step)
    except KeyboardInterrupt:
        where = f"They are recorded in {near(env.folder)}" if attempts else "Nothing was scored"
        say(f"Stopped after {len(attempts)} of {total} programs. {where}.")
        raise
    finally:
        env.close()

    code = _exit_code(episode, total, strict=order.strict)
    if order.as_json:
        emit(_document(task, episode, order, box, env.folder))
    else:
        _print(task, episode, box.name, env.folder)
        if order.strict:
            _print_errors(episode)
    return code


def _live(attempts: Sequence[Attempt], total: int, *, higher_is_better: bool) -> str:
    last = attempts[-1].outcome
    scores = [attempt.outcome.score for attempt in attempts if attempt.outcome.score is not None]
    best = (max if higher_is_better else min)(scores) if scores else None
    return f"{last.index}/{total} {last.status} {number(last.score)}, best {number(best)}"


def _exit_code(episode: PlayedEpisode, total: int, *, strict: bool) -> int:
    if episode.fault == Fault.INFRASTRUCTURE:
        return INFRASTRUCTURE
    if episode.fault is not None or episode.best is None:
        return FAILED
    final = _final(episode)
    if final and final.grade and not final.grade.valid:
        return INFRASTRUCTURE if final.grade.status.fault is Fault.INFRASTRUCTURE else FAILED
    succeeded = [attempt for attempt in episode.attempts if attempt.outcome.status is ResultStatus.SUCCESS]
    return FAILED if strict and len(succeeded) < total else DONE


def _why(attempt: Attempt) -> str:
    """The first line of what went wrong; empty for a success."""
    outcome = attempt.outcome
    if outcome.status is ResultStatus.SUCCESS:
        return ""
    told = outcome.grade.message if outcome.grade and outcome.grade.message else outcome.execution.reason
    return told.partition("\n")[0]


def _mib(amount: float | None) -> str:
    return "-" if amount is None else f"{amount:,.0f} MiB"


def _final(episode: PlayedEpisode) -> FinalResult | None:
    final: FinalResult | None = episode.final
    return final


def _print(task: Task, episode: PlayedEpisode, sandbox: str, folder: Path) -> None:
    final = _final(episode)
    selected = final.selected if final else None
    direction = "higher is better" if task.spec.higher_is_better else "lower is better"
    rows = [
        (
            f"{attempt.outcome.index}{' *' if attempt.outcome.index == selected else ''}",
            attempt.outcome.status.value,
            number(attempt.outcome.score),
            f"{attempt.outcome.execution.wall_seconds:.1f} s",
            _mib(attempt.outcome.execution.peak_memory_mb),
            _why(attempt),
        )
        for attempt in episode.attempts
    ]
    title = f"{task.spec.title}: {metric_name(task.spec.metric)}, {direction}; sandbox {sandbox}"
    table(
        title, ("program", "status", "validation", "time", "memory", ""), rows, right=("validation", "time", "memory")
    )
    if final and final.note:
        say(final.note)
    scores = [
        (reference.title, reference.validation_score, reference.test_score) for reference in task.pack.config.references
    ]
    if final and final.grade:
        scores.append((f"program {selected}, selected", final.validation_score, final.test_score))
    sign = -1 if task.spec.higher_is_better else 1
    scores.sort(key=lambda row: math.inf if row[2] is None else sign * row[2])
    shown = [(name, number(validation), number(test)) for name, validation, test in scores]
    if shown:
        table("", ("score of", "validation", "test"), shown, right=("validation", "test"))
    if final and final.place:
        say(f"On the leaderboard: {final.place}.")
    if episode.fault and final and final.grade and final.grade.status.fault is episode.fault:
        say(
            f"The final grade could not be made ({final.grade.status}): a fault of the {episode.fault}, not of the "
            f"program. {final.grade.message}"
        )
    elif episode.fault:
        say(
            f"The episode ended early: a fault of the {episode.fault}, not of the program. {_why(episode.attempts[-1])}"
        )
    elif episode.truncated:
        say(f"The episode ended early: its {task.spec.seconds:g} seconds were spent.")
    console().print(f"Recorded in {near(folder)}")


def _print_errors(episode: PlayedEpisode) -> None:
    """The ends of the error output of failed programs, which whoever wrote them wants to see."""
    for attempt in episode.attempts:
        tail = attempt.outcome.execution.stderr.strip().splitlines()[-TAIL_LINES:]
        if attempt.outcome.status is not ResultStatus.SUCCESS and tail:
            say(f"Program {attempt.outcome.index} wrote on stderr, at the end:")
            say("\n".join(f"  {line}" for line in tail))


def _document(task: Task, episode: PlayedEpisode, order: Order, box: Sandbox, folder: Path) -> dict[str, Any]:
    final = _final(episode)
    return {
        "task": task.spec.slug,
        "version": task.spec.version,
        "pack_hash": task.pack.hash,
        "metric": task.spec.metric,
        "higher_is_better": task.spec.higher_is_better,
        "agent": order.player.name,
        "seed": order.seed,
        "sandbox": box.name,
        "warm": getattr(box, "warm", None),
        "programs": [_program(attempt) for attempt in episode.attempts],
        "selected": final.selected if final else None,
        "validation_score": final.validation_score if final else None,
        "test_score": final.test_score if final else None,
        "place": asdict(final.place) if final and final.place else None,
        "truncated": episode.truncated,
        "fault": episode.fault,
        "references": [reference.model_dump(mode="json") for reference in task.pack.config.references],
        "recorded": str(folder),
    }


def _program(attempt: Attempt) -> dict[str, Any]:
    outcome = attempt.outcome
    return {
        "index": outcome.index,
        "sha256": outcome.program_sha256,
        "status": outcome.status.value,
        "reason": _why(attempt),
        "stderr_tail": outcome.execution.stderr.splitlines()[-TAIL_LINES:],
        "problems": [asdict(problem) for problem in outcome.grade.problems] if outcome.grade else [],
        "validation_score": outcome.score,
        "reward": outcome.reward,
        "wall_seconds": outcome.execution.wall_seconds,
        "cpu_seconds": outcome.execution.cpu_seconds,
        "peak_memory_mb": outcome.execution.peak_memory_mb,
        "disk_mb": outcome.execution.disk_mb,
        "files": outcome.execution.files,
        "box": outcome.execution.box,
        "gpus": list(outcome.execution.gpus),
    }
