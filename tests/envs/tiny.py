"""A tiny task and a sandbox that obeys: no process is started, no program is run."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

from openmle_env.errors import SandboxUnavailableError
from openmle_env.sandbox.protocol import CancelToken, Confinement
from openmle_env.sandbox.verdict import refuse
from openmle_env.types import SUBMISSION_NAME, Artifact, ArtifactState, Execution, Job, ResultStatus

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

IDS = range(1, 61)

PACK = """\
slug: {slug}
version: "1.2"
title: Tiny
modality: tabular
task_type: binary classification
metric: {{name: accuracy}}
submission:
  id: {{name: id, kind: integer}}
  targets: [{{name: y, kind: label, labels: ["0", "1"]}}]
budget: {{programs: 4, seconds: 600.0}}
limits: {{wall_seconds: 20}}
rewards: {{worst: 0.0, best: 1.0}}
"""


def truth(number: int) -> int:
    return int(number % 3 == 0)


def submission(right: float = 1.0) -> str:
    """A submission in which the first ``right`` of every ten rows are right."""
    rows = (f"{number},{truth(number) if number % 10 < right * 10 else 1 - truth(number)}" for number in IDS)
    return "id,y\n" + "\n".join(rows) + "\n"


def program(right: float = 1.0) -> str:
    """What makes `Box` write `submission` of the same argument."""
    return f"csv\n{submission(right)}"


def make_pack(root: Path, slug: str = "tiny") -> Path:
    public, private = root / slug / "data/public", root / slug / "data/private"
    for folder in (public, private):
        folder.mkdir(parents=True)
    (root / slug / "pack.yaml").write_text(PACK.format(slug=slug))
    (public / "description.md").write_text(f"# {slug}\n\nWhich numbers divide by three? ÷3\n")
    (public / "train.csv").write_text("id,y\n1001,0\n1002,1\n")
    (public / "test.csv").write_text("id\n" + "".join(f"{number}\n" for number in IDS))
    (public / "sample_submission.csv").write_text("id,y\n" + "".join(f"{number},0\n" for number in IDS))
    (private / "test_answer.csv").write_text(submission())
    return root / slug


class Box:
    """A sandbox that does what a program's first line says.

    ``csv``: success, and the rest of the program is the submission. ``none``: success without a submission.
    ``raise``: the sandbox is not available. Any status: that status. ``hang``: until cancelled.
    """

    def __init__(self) -> None:
        self.jobs: list[Job] = []
        self.closed = 0
        self.meet: Callable[[], object] = lambda: None
        self.running = threading.Event()
        self.failures = 0
        self.warmed: list[Job] = []
        self.ended: list[str] = []

    @property
    def name(self) -> str:
        return "box"

    def confinement(self) -> Confinement:
        return Confinement(memory="none", cpu=False, inodes=False, network=True)

    def run(self, job: Job, *, cancel: CancelToken | None = None) -> Execution:
        if refused := refuse(job, backend=self.name):
            return refused
        self.jobs.append(job)
        self.meet()
        if self.failures:
            self.failures -= 1
            return Execution(status=ResultStatus.SANDBOX_UNCONFIRMED, reason="lost the box", backend="box")
        head, _, rest = job.program.partition("\n")
        if head == "raise":
            raise SandboxUnavailableError("The engine is gone.")
        if head == "hang":
            ended = threading.Event()
            (cancel or CancelToken()).on_cancel(ended.set)
            self.running.set()
            ended.wait()
            return Execution(status=ResultStatus.CANCELLED, reason="The run was cancelled.", backend="box")
        if head in {"csv", "none"}:
            content = Artifact(name=SUBMISSION_NAME, state=ArtifactState.OK, content=rest.encode())
            artifacts = {SUBMISSION_NAME: content} if head == "csv" else {}
            return Execution(
                status=ResultStatus.SUCCESS, exit_code=0, wall_seconds=1.5, artifacts=artifacts, backend="box"
            )
        status = ResultStatus(head) if head in set(ResultStatus) else ResultStatus.CODE_EXECUTION_ERROR
        return Execution(status=status, reason=rest, exit_code=1, stderr="Traceback: \ud800", backend="box")

    async def arun(self, job: Job, *, cancel: CancelToken | None = None) -> Execution:
        return self.run(job, cancel=cancel)

    def warm_up(self, job: Job) -> None:
        self.warmed.append(job)

    def end_session(self, session: str) -> None:
        self.ended.append(session)

    def close(self) -> None:
        self.closed += 1
