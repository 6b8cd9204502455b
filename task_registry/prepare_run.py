"""Running a pack's prepare script in a sandbox, and handing back the files that it wrote."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from openmle_env.errors import PackError, PreparationError, SandboxUnavailableError, UsageError
from openmle_env.printable import printable
from openmle_env.sandbox.channel import MAX_FILES
from openmle_env.types import ArtifactState, Fault, Job, ResultStatus

if TYPE_CHECKING:
    from collections.abc import Mapping

    from openmle_env.sandbox.protocol import Sandbox
    from openmle_env.task_registry.pack import Preparation

HARNESS = Path(__file__).with_name("prepare_harness.py")
DONE = "done"
"""What the harness writes last: a script may end its process with success anywhere."""
MAX_ERROR_LINES = 30


def run_script(
    what: str,
    inputs: Mapping[str, Path],
    allowed: Preparation,
    sandbox: Sandbox,
    *,
    requirements: str = "",
) -> dict[str, bytes]:
    """Run ``prepare(raw, public, private)`` and return the files by name, such as ``public/train.csv``.

    Args:
        what: The script, as messages call it.
        inputs: The folders that the harness reads, by their places in the box: ``/data/raw`` and ``/pack``.
        allowed: What it may use.
        sandbox: One that runs code.
        requirements: What it needs, as a file of pip says it.

    Raises:
        PreparationError: It failed, did not end in time, or left something else than files.
        PackError: The sandbox cannot give what it is allowed.
        SandboxUnavailableError: It could not be run.
    """
    job = Job(
        program=HARNESS.read_text(encoding="utf-8"),
        inputs=inputs,
        collect=("public/", "private/", DONE),
        limits=replace(allowed.limits(), inodes=2 * MAX_FILES),
        requirements=requirements,
    )
    try:
        execution = sandbox.run(job)
    except UsageError as error:
        raise PackError(f"{what} cannot be run with what 'preparation' of pack.yaml allows: {error}") from error
    if execution.status.fault is Fault.INFRASTRUCTURE:
        raise SandboxUnavailableError(f"{what} could not be run: {execution.reason}")
    if execution.status is not ResultStatus.SUCCESS:
        tail = printable("\n".join(execution.stderr.strip().splitlines()[-MAX_ERROR_LINES:]))
        raise PreparationError(f"{what} failed ({execution.status.value}): {execution.reason}\n{tail}".rstrip())
    found = execution.artifacts
    if DONE not in found or found[DONE].state is ArtifactState.MISSING:
        raise PreparationError(
            f"{what} ended its process before prepare() returned, so what it wrote may be cut. "
            "Let it return; call neither sys.exit nor os._exit."
        )
    for path, artifact in found.items():
        name, detail = printable(path), printable(artifact.detail)
        if artifact.state is ArtifactState.NOT_A_FILE:
            raise PreparationError(f"{what} left {name}, which is {detail or 'no plain file'}. Write plain files only.")
        if artifact.state is ArtifactState.TOO_LARGE:
            raise PreparationError(
                f"{what} wrote more than is taken: {name} ({detail}). Write fewer rows or smaller files, or "
                f"raise preparation.disk_mb={allowed.disk_mb} in pack.yaml; at most {MAX_FILES:,} files are taken."
            )
    return {
        name: artifact.content
        for name, artifact in found.items()
        if artifact.state is ArtifactState.OK and name != DONE
    }
