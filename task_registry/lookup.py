"""From a task's name to its pack, and to the task ready to be played."""

from __future__ import annotations

import re
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING

from openmle_env import settings
from openmle_env.errors import PackError, UnknownNameError, UsageError, unknown_name
from openmle_env.task_registry import files, index, spec
from openmle_env.task_registry.folder import Pack, open_pack
from openmle_env.task_registry.make_index import open_named
from openmle_env.task_registry.places import BUILT_IN, places
from openmle_env.task_registry.prepare import prepare
from openmle_env.task_registry.task import Task

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Sequence

    from openmle_env.sandbox.protocol import Sandbox
    from openmle_env.task_registry.places import Place

__all__ = ["Pack", "Task", "find", "load_task"]

_ID = re.compile(rf"{index.NAMESPACE}/(?P<slug>.+)-v(?P<version>\d+)")


def find(name_or_path: str | Path) -> Pack:
    """Open the pack of a task. Nothing of it is run or prepared.

    Args:
        name_or_path: Name of a task (``titanic``), its environment's id (``OpenMLE/titanic-v0``), or the folder of a
            pack. A text is a folder if it holds a separator or starts with a dot: ``./titanic``. A name that is not
            known as it is counts as `openmle_env.task_registry.index.slug_of` makes it: ``AI4Code`` is ``ai4code``.

    Raises:
        UnknownNameError: There is no task of this name, or no such folder.
        UsageError: Different tasks have this name.
        PackError: The folder is no usable pack, or a folder of packs cannot be read.
    """
    if isinstance(name_or_path, Path):
        return _open_folder(name_or_path)
    name = name_or_path.removeprefix("openmle_env:")
    match = _ID.fullmatch(name)
    if match is None and not name:
        raise UsageError("The task's name is empty. Give a name such as 'titanic', or the folder of a task pack.")
    if match is None and ("/" in name or name.startswith((".", "~"))):
        return _open_folder(Path(name))
    known, faults = _names()
    asked = match["slug"] if match else name
    for wanted in (asked, index.slug_of(asked)):
        if found := [place for place, names in known.items() if wanted in names]:
            break
    else:
        is_folder = files.is_folder(Path(name))
        hint = f"For the folder of that name, say './{name}'." if is_folder else "`openmle list` shows all tasks."
        raise unknown_name("task", asked, chain(*known.values()), hint=" Left out: ".join([hint, *faults]))
    if match and match["version"] != str(index.ENVIRONMENT_VERSION):
        raise unknown_name("environment", name, map(index.environment_id, chain(*known.values())))
    return _only(wanted, found)


def _names() -> tuple[dict[Place, Collection[str]], list[str]]:
    """The names of each folder of packs, and what is wrong with other packages' folders, which keeps nobody else."""
    known: dict[Place, Collection[str]] = {}
    faults = []
    for place in places():
        try:
            known[place] = place.names()
        except PackError as error:
            if place == BUILT_IN or place.is_of_setting:
                raise
            faults.append(str(error))
    return known, faults


def _only(name: str, found: Sequence[Place]) -> Pack:
    """The one pack of this name in these places; the same pack in several of them is one."""
    packs = {place: open_named(place.folder_of(name)) for place in found}
    for place, pack in packs.items():
        if index.slug_of(pack.slug) != index.slug_of(name):
            raise PackError(
                f"{place.index_file} says that {pack.root} holds the task {name!r}, and it holds {pack.slug!r}. Make "
                f"the index again: openmle pack index {place.folder}"
            )
    first = packs[found[0]]
    if len(packs) > 1 and len({pack.hash for pack in packs.values()}) > 1:
        listed = " and ".join(f"{pack.root} ({place.name})" for place, pack in packs.items())
        raise UsageError(
            f"There are different tasks {first.slug!r}: {listed}. Give the folder of the one that you mean, or rename "
            "the other."
        )
    return first


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
