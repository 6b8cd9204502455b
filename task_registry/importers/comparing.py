"""The peer's score of a submission beside ours: what an imported competition's own grader gives for the same file."""

from __future__ import annotations

import json
import math
import shutil
from dataclasses import dataclass
from typing import TYPE_CHECKING

from openmle_env import scratch
from openmle_env.errors import PackError, SandboxUnavailableError
from openmle_env.graders.loading.source import Refused, read_bytes
from openmle_env.task_registry.folder import METRIC_SCRIPT
from openmle_env.types import ArtifactState, Fault, Job, Part

if TYPE_CHECKING:
    from pathlib import Path

    from openmle_env.sandbox.protocol import Sandbox
    from openmle_env.task_registry.task import Task
    from openmle_env.types import Execution

MARK = "def peer_score("
"""What the metric of an imported competition has."""
_PROGRAM = """\
import importlib.util
import json
import sys

spec = importlib.util.spec_from_file_location("peer", "/data/metric.py")
peer = importlib.util.module_from_spec(spec)
sys.modules["peer"] = peer
spec.loader.exec_module(peer)
score = peer.peer_score("/data/submission.csv", "/data/answers.csv")
with open("/output/score.json", "w") as file:
    json.dump(None if score is None else float(score), file)
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """Two scores of one file, on all hidden rows."""

    metric: str
    """The metric that scores here."""
    ours: float | None
    """Its score; None where the submission is refused here."""
    refusal: str
    """Why it is refused here."""
    peer: float | None
    """The peer's score, rounded to five decimals as it does; None where the peer refuses or fails."""
    peer_says: str
    """What the peer said where it gave none. It may quote the answers."""


def compare(task: Task, submission: Path, sandbox: Sandbox) -> Comparison:
    """Grade a file by the task's metric and by the peer's own grader.

    Args:
        task: A prepared task that was imported from MLE-bench.
        submission: The file.
        sandbox: Where the peer's code runs.

    Raises:
        PackError: The pack has no grader of a peer, or the file cannot be read.
        SandboxUnavailableError: The peer's code could not be run.
    """
    if METRIC_SCRIPT not in task.pack.members or MARK not in task.pack.text(METRIC_SCRIPT):
        raise PackError(f"{task.spec.slug} was not imported with a grader of its own to compare with.")
    try:
        content = read_bytes(submission)
    except Refused as refused:
        raise PackError(f"{submission} cannot be read. {refused.problem.message}") from None
    grade = task.grader(sandbox).grade(content, Part.ALL)
    with scratch.folder() as folder:
        data = folder / "data"
        data.mkdir(mode=0o755)
        shutil.copyfile(task.pack.members[METRIC_SCRIPT], data / "metric.py")
        shutil.copyfile(task.answers, data / "answers.csv")
        (data / "submission.csv").write_bytes(content)
        for path in data.iterdir():
            path.chmod(0o644)
        execution = sandbox.run(
            Job(
                program=_PROGRAM,
                inputs={"/data": data},
                collect=("score.json",),
                limits=task.pack.config.metric.limits(),
                requirements=task.pack.requirements,
            )
        )
    if execution.status.fault is Fault.INFRASTRUCTURE:
        raise SandboxUnavailableError(f"{task.spec.slug}: the peer's grader could not be run: {execution.reason}")
    score, says = _score_of(execution)
    return Comparison(
        metric=task.pack.config.metric.name,
        ours=grade.score,
        refusal="" if grade.score is not None else grade.message,
        peer=score,
        peer_says=says,
    )


def _score_of(execution: Execution) -> tuple[float | None, str]:
    """The peer's score; where it is none, what was said instead."""
    found = execution.artifacts.get("score.json")
    try:
        score = json.loads(found.content) if found is not None and found.state is ArtifactState.OK else None
    except (ValueError, RecursionError):
        score = None  # its code wrote into our file
    if isinstance(score, float):
        if math.isfinite(score):
            return score, ""
        return None, f"its score is {score}, which it takes for a valid one"
    return None, (execution.stdout.strip() or execution.reason)[-400:]
