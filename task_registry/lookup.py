"""From a task's name to its pack, and to the task ready to be played."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

from openmle_env import settings
from openmle_env.errors import UnknownNameError, UsageError, unknown_name
from openmle_env.task_registry import files, index, spec
from openmle_env.task_registry.folder import Pack, open_pack
from openmle_env.task_registry.prepare import prepare
from openmle_env.task_registry.task import Task

if TYPE_CHECKING:
    from collections.abc import Callable

    from openmle_env.sandbox.protocol import Sandbox

__all__ = ["Pack", "Task", "find", "load_task"]

_ID = re.compile(rf"{index.NAMESPACE}/(?P<slug>.+)-v\d+")


def find(name_or_path: str | Path) -> Pack:
    """Open the pack of a task. Nothing of it is run or prepared.

    Args:
        name_or_path: Name of a built-in task (``titanic``), its environment's id (``OpenMLE/titanic-v0``), or the
            folder of a pack. A text is a folder if it holds a separator or starts with a dot: ``./titanic``.

    Raises:
        UnknownNameError: There is no built-in task of this name, or no such folder.
        PackError: The folder is no usable pack.
    """
    if isinstance(name_or_path, Path):
        return _open_folder(name_or_path)
    name = name_or_path.removeprefix("openmle_env:")
    known = index.builtin()
    if match := _ID.fullmatch(name):
        if match["slug"] in known and name != index.environment_id(match["slug"]):
            raise unknown_name("environment", name, map(index.environment_id, known))
        name = match["slug"]
    elif not name:
        raise UsageError("The task's name is empty. Give a name such as 'titanic', or the folder of a task pack.")
    elif "/" in name or name.startswith((".", "~")):
        return _open_folder(Path(name))
    if name not in known:
        hint = f"For the folder of that name, say './{name}'." if files.is_folder(Path(name)) else ""
        raise unknown_name("task", name, known, hint=hint or "`openmle list` shows all tasks.")
    return open_pack(index.PACKS / name)


def load_task(
    name_or_path: str | Path,
    *,
    sandbox: Sandbox | None = None,
    progress: Callable[[str, float], None] | None = None,
    force: bool = False,
) -> Task:
    """Find a task, prepare it if that was not done before, and verify every byte of it.

    Args:
        name_or_path: As for `find`.
        sandbox: Where the pack's own code runs. Left out, the one of the settings is started if any has to run.
        progress: Told what is being done, and the share that is done, from 0 to 1.
        force: Prepare it again, even if it is there and whole.

    Raises:
        UnknownNameError: As for `find`.
        PackError: As for `find`, or what was prepared is not what the pack says.
        PreparationError: The pack's script failed.
        SandboxUnavailableError: The pack's own code could not be run.
        DiskFullError: There is no space for the data.
        InfrastructureError: The cache's folder cannot be written.
    """
    pack = find(name_or_path)
    prepared = prepare(pack, sandbox=sandbox, progress=progress, force=force)
    return Task(
        spec=spec.build(pack, prepared.manifest),
        pack=pack,
        public=prepared.public,
        answers=prepared.answers,
        submission=prepared.manifest.submission,
    )


def _open_folder(path: Path) -> Pack:
    whole = settings.whole_path(path, remedy="Give the whole path of the task pack.")
    if not files.is_folder(whole):
        raise UnknownNameError(
            f"There is no folder {str(path)!r}. Give the folder of a task pack, or a name that `openmle list` shows."
        )
    return open_pack(whole)
