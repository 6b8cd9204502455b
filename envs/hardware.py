"""What a task needs of the machine, looked at before an episode starts: a program is never run on less."""

from __future__ import annotations

from typing import TYPE_CHECKING

from openmle_env.errors import SandboxUnavailableError
from openmle_env.sandbox.box import BoxSandbox

if TYPE_CHECKING:
    from openmle_env.sandbox.protocol import Sandbox
    from openmle_env.types import TaskSpec

_WITHOUT = "To play it without, in Python: limits={'gpus': 0}."


def need_gpus(task: TaskSpec, sandbox: Sandbox) -> None:
    """Refuse a task whose programs get GPUs where a sandbox of this machine has too few to give.

    Whether they are free is another matter: a program waits for its turn. A sandbox that runs its programs elsewhere,
    or none at all, is not asked.

    Raises:
        SandboxUnavailableError: The message says what there is, and what to do.
        UsageError: The setting ``OPENMLE_GPUS`` names what does not exist.
    """
    count = int(task.limits.gpus)
    if not count or not isinstance(sandbox, BoxSandbox):
        return
    wanted = f"Each program of {task.slug!r} gets {count} GPU{'' if count == 1 else 's'}"
    if not sandbox.gives_gpus:
        raise SandboxUnavailableError(
            f"{wanted}, and {sandbox.name} has none to give. Use Docker: sandbox='docker', --sandbox docker. {_WITHOUT}"
        )
    from openmle_env.sandbox.gpus import devices  # asks the driver

    try:
        there = len(devices.chosen())
    except SandboxUnavailableError as error:
        raise SandboxUnavailableError(f"{wanted}. {error} {_WITHOUT}") from error
    if there < count:
        raise SandboxUnavailableError(
            f"{wanted}, and OPENMLE_GPUS allows {there} on this machine. Correct it, or use a machine with more. "
            f"{_WITHOUT}"
        )
