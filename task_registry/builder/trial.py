"""Running a prepare script that a model wrote, in a sandbox, and handing back the files that it made."""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from openmle_env import scratch
from openmle_env.errors import SandboxUnavailableError, UsageError
from openmle_env.printable import printable
from openmle_env.sandbox.channel import MAX_FILES
from openmle_env.sandbox.scripted import ScriptedSandbox
from openmle_env.task_registry import files
from openmle_env.task_registry.builder.conversation import WrongAnswerError
from openmle_env.types import MIB, ArtifactState, Fault, Job, ResultStatus

if TYPE_CHECKING:
    from openmle_env.sandbox.protocol import Sandbox
    from openmle_env.task_registry.pack import Preparation

HARNESS = Path(__file__).parents[1] / "prepare_harness.py"
DONE = "done"
"""What the harness writes last."""
MAX_ERROR_LINES = 30


def allowance(raw_bytes: int) -> dict[str, float | int]:
    """What the script of a pack with so much raw data may use: the keys of ``preparation`` in ``pack.yaml``."""
    size = -(-raw_bytes // MIB)
    return {
        "seconds": 600.0 + 0.5 * size,
        "memory_mb": 4096 + 3 * size,
        "disk_mb": 1024 + 2 * size,
    }


def run_script(script: str, raw: Path, allowed: Preparation, sandbox: Sandbox) -> dict[str, bytes]:
    """Run ``prepare(raw, public, private)`` and return the files by name, such as ``public/train.csv``.

    Raises:
        WrongAnswerError: The script failed, did not end in time, or left something else than files.
        SandboxUnavailableError: It could not be run.
        UsageError: The sandbox runs no code.
    """
    if isinstance(sandbox, ScriptedSandbox):
        raise UsageError("The scripted sandbox runs no code. Choose another one: OPENMLE_SANDBOX=docker or bubblewrap")
    with ExitStack() as stack:
        work = stack.enter_context(scratch.folder())
        folder = work / "pack"
        files.make_folder(folder, mode=0o755)
        files.write(folder / "prepare.py", script.encode(), mode=0o644)
        job = Job(
            program=HARNESS.read_text(encoding="utf-8"),
            inputs={"/data/raw": raw, "/pack": folder},
            collect=("public/", "private/", DONE),
            limits=replace(allowed.limits(), inodes=2 * MAX_FILES),
        )
        execution = sandbox.run(job)
    if execution.status.fault is Fault.INFRASTRUCTURE:
        raise SandboxUnavailableError(f"prepare.py could not be run: {execution.reason}")
    tail = printable("\n".join(execution.stderr.strip().splitlines()[-MAX_ERROR_LINES:]))
    if execution.status is not ResultStatus.SUCCESS:
        raise WrongAnswerError(f"prepare.py failed ({execution.status.value}): {execution.reason}\n{tail}".rstrip())
    found = execution.artifacts
    if DONE not in found or found[DONE].state is ArtifactState.MISSING:
        raise WrongAnswerError("prepare.py ended its process before prepare() returned. Call neither exit nor quit.")
    for name, artifact in found.items():
        if artifact.state is ArtifactState.NOT_A_FILE:
            raise WrongAnswerError(f"prepare.py left {printable(name)}, which is {artifact.detail}. Write plain files.")
        if artifact.state is ArtifactState.TOO_LARGE:
            raise WrongAnswerError(
                f"prepare.py wrote more than is taken: {printable(name)} ({artifact.detail}); at most {MAX_FILES:,} "
                f"files and {allowed.disk_mb:,} MiB. Use fewer rows, chosen by hash, or smaller media."
            )
    return {
        name: artifact.content
        for name, artifact in found.items()
        if artifact.state is ArtifactState.OK and name != DONE
    }
