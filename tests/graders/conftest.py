"""A stand-in box: the job's program really runs, in a process of its own, without isolation. For our own code only."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import pytest

from openmle_env.sandbox.protocol import Confinement
from openmle_env.types import Artifact, ArtifactState, Column, Execution, Job, ResultStatus, SubmissionSchema

if TYPE_CHECKING:
    from pathlib import Path

    from openmle_env.sandbox.protocol import CancelToken


@dataclass
class PlainProcess:
    output: Path
    jobs: list[Job] = field(default_factory=list)
    name: str = "process"

    def confinement(self) -> Confinement:
        return Confinement(memory="none", cpu=False, inodes=False, network=False)

    def run(self, job: Job, *, cancel: CancelToken | None = None) -> Execution:
        self.jobs.append(job)
        output = self.output / str(len(self.jobs))
        output.mkdir()
        environment = {
            "PATH": os.environ["PATH"],
            "PYTHONDONTWRITEBYTECODE": "1",  # /data is read-only in a real box
            "DATA_DIR": str(job.inputs["/data"]),
            "OUTPUT_DIR": str(output),
        }
        with subprocess.Popen(
            [sys.executable, "-"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=environment,
            cwd=output,
        ) as done:
            unregister = cancel.on_cancel(done.kill) if cancel else lambda: None
            stdout, stderr = done.communicate(job.program.encode())
            unregister()
        if cancel is not None and cancel.cancelled:
            return Execution(status=ResultStatus.CANCELLED, reason="The run was cancelled.")
        found = {name: (output / name).read_bytes() for name in job.collect if (output / name).exists()}
        return Execution(
            status=ResultStatus.SUCCESS if done.returncode == 0 else ResultStatus.CODE_EXECUTION_ERROR,
            exit_code=done.returncode,
            stdout=stdout.decode(),
            stderr=stderr.decode(),
            artifacts={name: Artifact(name=name, state=ArtifactState.OK, content=data) for name, data in found.items()},
        )

    async def arun(self, job: Job, *, cancel: CancelToken | None = None) -> Execution:
        return self.run(job, cancel=cancel)

    def close(self) -> None:
        pass


@pytest.fixture
def process(tmp_path: Path) -> PlainProcess:
    output = tmp_path / "boxes"
    output.mkdir()
    return PlainProcess(output)


@pytest.fixture
def survival() -> SubmissionSchema:
    """Integer ids, labels 0 and 1."""
    return SubmissionSchema(
        id=Column(name="id", kind="integer"), targets=(Column(name="target", kind="label", labels=("0", "1")),)
    )
