"""Running a prepare script that a model wrote, in a sandbox, and handing back the files that it made."""

from __future__ import annotations

from typing import TYPE_CHECKING

from openmle_env import scratch
from openmle_env.errors import PreparationError, UsageError
from openmle_env.sandbox.scripted import ScriptedSandbox
from openmle_env.task_registry import files, prepare_run
from openmle_env.task_registry.builder.conversation import WrongAnswerError
from openmle_env.types import MIB

if TYPE_CHECKING:
    from pathlib import Path

    from openmle_env.sandbox.protocol import Sandbox
    from openmle_env.task_registry.pack import Preparation


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
        PackError: The sandbox cannot give what it is allowed.
        SandboxUnavailableError: It could not be run.
        UsageError: The sandbox runs no code.
    """
    if isinstance(sandbox, ScriptedSandbox):
        raise UsageError("The scripted sandbox runs no code. Choose another one: OPENMLE_SANDBOX=docker or bubblewrap")
    with scratch.folder() as work:
        folder = work / "pack"
        files.make_folder(folder, mode=0o755)
        files.write(folder / "prepare.py", script.encode(), mode=0o644)
        try:
            return prepare_run.run_script("prepare.py", {"/data/raw": raw, "/pack": folder}, allowed, sandbox)
        except PreparationError as error:
            raise WrongAnswerError(str(error)) from error
