"""Makes the index of a folder of packs from the packs themselves."""

from __future__ import annotations

from typing import TYPE_CHECKING

from openmle_env.errors import InfrastructureError, PackError
from openmle_env.files import write_whole
from openmle_env.task_registry import files, index, versions
from openmle_env.task_registry.folder import open_pack
from openmle_env.task_registry.index import IndexEntry
from openmle_env.task_registry.places import pack_folders

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from openmle_env.task_registry.folder import Pack

MAX_FAULTS = 20
"""As many packs that cannot be used are named."""
_DATA = ("raw/", "data/")


def entry_of(pack: Pack) -> IndexEntry:
    """What an index says of a pack. Every file of it is read, to hash it.

    Raises:
        PackError: A file cannot be read.
    """
    config = pack.config
    ours = config.metric.ours()
    carried = sum(path.stat().st_size for name, path in pack.members.items() if name.startswith(_DATA))
    return IndexEntry(
        slug=pack.slug,
        version=pack.version,
        hash=pack.hash,
        score_hash=versions.score_hash(pack),
        folder=pack.root.name,
        title=config.title or pack.slug,
        modality=config.modality,
        task_type=config.task_type,
        metric=config.metric.name,
        higher_is_better=ours.higher_is_better if ours else config.metric.higher_is_better,
        licence=config.data.licence,
        size=carried + sum(download.size for download in config.downloads),
        fetched=bool(config.downloads),
        origin=config.data.origin,
        gpus=int(config.program_limits().gpus),
        tier=config.tier,
    )


def open_named(folder: Path) -> Pack:
    """Open a pack that is known by its folder's name.

    Raises:
        PackError: It cannot be used, or its task has another name than its folder.
    """
    pack = open_pack(folder)
    if pack.slug not in {folder.name, index.slug_of(folder.name)}:
        raise PackError(
            f"{folder} holds the task {pack.slug!r}. Give the folder the task's name, or correct 'slug' in pack.yaml."
        )
    return pack


def entries(folder: Path, progress: Callable[[str, float], None] | None = None) -> list[IndexEntry]:
    """The tasks of all packs in ``folder``, by their names.

    Raises:
        PackError: Packs cannot be used, have other names than their folders, or the same; all of them are named.
    """
    made, faults = [], []
    found = pack_folders(folder)
    for number, (name, path) in enumerate(found.items()):
        if progress:
            progress(name, number / len(found))
        try:
            made.append(entry_of(open_named(path)))
        except PackError as error:
            faults.append(str(error))
    if faults:
        more = f"\n... and {len(faults) - MAX_FAULTS} more" if len(faults) > MAX_FAULTS else ""
        raise PackError("\n".join(faults[:MAX_FAULTS]) + more)
    return sorted(made)


def write(
    folder: Path,
    target: Path,
    *,
    released: bool = True,
    progress: Callable[[str, float], None] | None = None,
) -> list[IndexEntry]:
    """Write the index of the packs in ``folder``; what it was before stays where anything is wrong.

    Args:
        folder: Holds one folder for each pack.
        target: The index file.
        released: Refuse a pack that would give other scores under the version that the index has it with. Without it
            the author says that nobody has scores of that version.
        progress: Told the name of the pack, and the share that is done.

    Raises:
        PackError: As for `entries`; or a pack needs a new version.
        InfrastructureError: It cannot be written.
    """
    if not files.is_folder(folder):
        raise PackError(f"{folder} is not a folder. Give the folder that holds the task packs.")
    made = entries(folder, progress)
    if released:
        _check_versions(folder, target, made)
    try:
        write_whole(target, index.text_of(made).encode())
    except OSError as error:
        raise InfrastructureError(f"{target} cannot be written: {error.strerror or error}.") from error
    return made


def _check_versions(folder: Path, target: Path, made: list[IndexEntry]) -> None:
    try:
        before = index.read(target)
    except (FileNotFoundError, PackError):  # there is none, or one of an older format
        return
    changed = [entry for entry in made if entry.slug in before and before[entry.slug].score_hash != entry.score_hash]
    faults = [versions.version_bump(before[entry.slug], open_pack(folder / entry.folder)) for entry in changed]
    if reasons := [reason for reason in faults if reason]:
        raise PackError(
            "\n".join(reasons) + "\nThe index was not written. Where the old version was never released, say "
            "--unreleased."
        )
