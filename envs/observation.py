"""What an agent sees: the spaces, equal for every task, and the feedback on its last program."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from gymnasium import spaces

from openmle_env.envs.spaces import UnicodeText
from openmle_env.printable import printable
from openmle_env.types import MAX_PROGRAM_CHARACTERS, ResultStatus

if TYPE_CHECKING:
    from openmle_env.types import Execution, Feedback, Grade, Limits

MAX_TEXT_CHARACTERS = 100_000
"""The longest specification or feedback; the middle of a longer one is left out, and says so."""

MAX_SCORE = 1e18
MAX_SECONDS = 1e9
MAX_PROGRAMS = 1_000_000

NEAR = 0.5
"""From which share of a limit on an agent is told how much of it was used."""
LONG_SECONDS = 10.0
"""From how long a run on it matters whether a program computed or waited."""

STATUSES: tuple[ResultStatus | None, ...] = (None, *ResultStatus)
"""What the numbers of the observation ``status`` stand for; 0 is None, no program yet."""


def observation_space() -> spaces.Dict:
    """The observation space of every task: identical bounds, so that vectors may mix tasks."""
    return spaces.Dict(
        {
            "task": UnicodeText(MAX_TEXT_CHARACTERS),
            "feedback": UnicodeText(MAX_TEXT_CHARACTERS),
            "status": spaces.Discrete(len(STATUSES)),
            "score": spaces.Box(-MAX_SCORE, MAX_SCORE, (1,), np.float64),
            "has_score": spaces.Discrete(2),
            "best_score": spaces.Box(-MAX_SCORE, MAX_SCORE, (1,), np.float64),
            "has_best_score": spaces.Discrete(2),
            "programs_left": spaces.Box(0, MAX_PROGRAMS, (1,), np.int64),
            "seconds_left": spaces.Box(0.0, MAX_SECONDS, (1,), np.float64),
        }
    )


def action_space() -> UnicodeText:
    """The action space of every task: the text of a program."""
    return UnicodeText(MAX_PROGRAM_CHARACTERS)


def observation(
    *,
    task: str,
    feedback: str = "",
    status: ResultStatus | None = None,
    score: float | None = None,
    best_score: float | None = None,
    programs_left: int,
    seconds_left: float,
) -> dict[str, Any]:
    """Build one member of `observation_space`; a value that is not there is 0 with its ``has_`` flag 0."""
    return {
        "task": bounded(task),
        "feedback": bounded(feedback),
        "status": np.int64(STATUSES.index(status)),
        "score": _number(score or 0.0, MAX_SCORE),
        "has_score": np.int64(score is not None),
        "best_score": _number(best_score or 0.0, MAX_SCORE),
        "has_best_score": np.int64(best_score is not None),
        "programs_left": np.array([min(max(programs_left, 0), MAX_PROGRAMS)], dtype=np.int64),
        "seconds_left": _number(max(seconds_left, 0.0), MAX_SECONDS),
    }


def _number(value: float, bound: float) -> np.ndarray[Any, np.dtype[np.float64]]:
    return np.array([min(max(value, -bound), bound)], dtype=np.float64)


def bounded(text: str, limit: int = MAX_TEXT_CHARACTERS) -> str:
    r"""Make ``text`` a member of the space: lone surrogates replaced, the middle of a long one left out.

    >>> bounded("\ud800 and so on")
    '? and so on'
    >>> bounded("a" * 60 + "b" * 60, limit=80)
    'aaaaaaaaaaaaaaaaaaaa\n[... 80 characters left out ...]\nbbbbbbbbbbbbbbbbbbbb'
    """
    if not text.isascii():
        text = text.encode("utf-8", "replace").decode("utf-8")
    if len(text) <= limit:
        return text
    half = max(limit - 40, 0) // 2
    return f"{text[:half]}\n[... {len(text) - 2 * half} characters left out ...]\n{text[len(text) - half :]}"


def shown_status(status: ResultStatus, execution: Execution, feedback: Feedback) -> ResultStatus:
    """The status as an agent may know it: without validity, an invalid submission is one like any other."""
    hidden = feedback == "none" and status is ResultStatus.SUBMISSION_INVALID
    return execution.status if hidden else status


def render_feedback(
    *,
    index: int,
    status: ResultStatus,
    execution: Execution,
    grade: Grade | None,
    best: tuple[int, float] | None,
    higher_is_better: bool,
    feedback: Feedback,
    limits: Limits,
) -> str:
    """Render what an agent is told of its program, in plain text, within the bounds of the space.

    What the program wrote may hold anything; it is shown so that it steers no terminal (see `printable`).

    Args:
        index: Number of the program, from 1.
        status: What came of it; hidden as ``feedback`` asks.
        execution: Its run.
        grade: Its grade on the validation part, if it was graded.
        best: Number and validation score of the best program so far, this one included.
        higher_is_better: Direction of the metric.
        feedback: How much is told.
        limits: What the program was allowed; memory and disk are told where they come near.
    """
    lines = [f"Program {index}: {shown_status(status, execution, feedback)}"]
    if execution.reason:
        lines.append(execution.reason)
    if grade is not None and _may_explain(grade, feedback):
        lines.extend(_explain(grade))
    if feedback == "validation" and grade is not None and grade.score is not None:
        direction = "higher" if higher_is_better else "lower"
        lines.append(f"Validation score: {grade.score:.6g} ({direction} is better)")
    if feedback == "validation" and best is not None:
        lines.append(f"Best so far: {best[1]:.6g} (program {best[0]})")
    if execution.exit_code not in (None, 0):
        lines.append(f"Exit code: {execution.exit_code}")
    lines.extend(_used(execution, limits))
    lines.extend(f"Note: {note}" for note in execution.notes)
    for name, text in (("stdout", execution.stdout), ("stderr", execution.stderr)):
        if text.strip():
            lines.extend((f"--- {name}", text.rstrip()))
    return bounded(printable("\n".join(lines)))


def _used(execution: Execution, limits: Limits) -> list[str]:
    lines = []
    if execution.wall_seconds:
        cpu = execution.cpu_seconds
        of_it = f", {cpu:.1f} s of CPU time" if cpu and execution.wall_seconds >= LONG_SECONDS else ""
        lines.append(f"Run time: {execution.wall_seconds:.1f} s{of_it}")
    peak = execution.peak_memory_mb
    if peak is not None and peak >= NEAR * limits.memory_mb:
        lines.append(f"Memory: up to {peak:,.0f} of {limits.memory_mb:,} MiB")
    disk, files = execution.disk_mb or 0.0, execution.files or 0
    if disk >= NEAR * min(limits.work_mb, limits.output_mb) or files >= NEAR * limits.inodes:
        lines.append(f"Left in the writable folders: {disk:,.0f} MiB, and up to {files:,} files in one")
    return lines


def _may_explain(grade: Grade, feedback: Feedback) -> bool:
    # That nothing was submitted is known from the run alone; all else of a grade tells validity.
    return feedback != "none" or grade.status is ResultStatus.SUBMISSION_MISSING


def _explain(grade: Grade) -> list[str]:
    lines = [grade.message] if grade.message and not grade.valid else []
    lines.extend(f"- {problem.message}" for problem in grade.problems if problem.message != grade.message)
    lines.extend(f"Warning: {warning}" for warning in grade.warnings)
    return lines
