"""Taking archives apart wholly, with those within them, as what people send is packed: ``all.zip > train.csv.zip``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from openmle_env.errors import PackError
from openmle_env.task_registry import files
from openmle_env.task_registry.archives.kinds import kind_of
from openmle_env.task_registry.archives.limits import ArchiveLimits, Tally
from openmle_env.task_registry.archives.taking import FOLDER, take_everything

if TYPE_CHECKING:
    from pathlib import Path

SUFFIXES = (
    *(".tar.gz", ".tar.xz", ".tar.bz2", ".tar.zst", ".tgz", ".txz", ".tbz2"),
    *(".tar", ".zip", ".7z", ".gz", ".xz", ".bz2", ".zst"),
)
"""What an archive's name ends with. Other files of these formats (docx, npz, jar) are data, and stay as they are."""
_JUNK = "__MACOSX"
"""A folder that one kind of computer adds to archives, with a shadow of each file."""


def extract_all(archive: Path, folder: Path, limits: ArchiveLimits | None = None) -> None:
    """Take an archive and all archives within it apart. The archive stays; ``folder`` holds everything, or is not made.

    An archive with a single file becomes that file, wherever it lies; one with several files becomes a folder of its
    own name. Done again, it gives the same.

    Args:
        archive: The outermost archive.
        folder: Made by this; one that is there has to be empty or to hold the same already.
        limits: How much is taken.

    Raises:
        PreparationError: An archive is damaged, too large, nested too deeply or holds what none should.
        PackError: The archive cannot be read, or the folder holds something else.
        DiskFullError: It does not fit on the disk.
        InfrastructureError: The folder cannot be written.
    """
    new = folder.with_name(f".{folder.name}.new")
    with files.storage_errors(folder.parent):
        files.remove(new)
        try:
            files.make_folder(new, mode=FOLDER)
            limits = limits or ArchiveLimits()
            _unpack(archive, new, Tally.of(archive, limits), depth=1)
            if folder.is_dir() and any(folder.iterdir()):
                if not files.same(new, folder):
                    raise PackError(f"{folder} holds other files than {archive.name}. Give a folder that is empty.")
                return
            files.remove(folder)
            new.rename(folder)
        finally:
            files.remove(new)


def extract_tree(folder: Path, limits: ArchiveLimits | None = None) -> None:
    """Take every archive below a folder apart, where it lies; the archives themselves go away.

    Where an error comes, some archives may have been taken apart and others not: none is half-made.

    Args:
        folder: An existing folder.
        limits: How much is taken out of each archive that lies there.

    Raises:
        PreparationError: As for `extract_all`.
        PackError: Something in the folder is no plain file, or cannot be read.
        DiskFullError: It does not fit on the disk.
        InfrastructureError: The folder cannot be written.
    """
    limits = limits or ArchiveLimits()
    with files.storage_errors(folder):
        for name, path in files.tree(folder, everything=True).items():
            if _is_archive(path):
                _replace(path, Tally.of(path, limits, name=name), depth=1)


def _is_archive(path: Path) -> bool:
    return path.name.lower().endswith(SUFFIXES) and kind_of(path) is not None


def _replace(archive: Path, tally: Tally, depth: int) -> None:
    """Put what an archive holds in its place."""
    new = archive.with_name(f".{archive.name[:200]}.new")
    files.remove(new)
    try:
        files.make_folder(new, mode=FOLDER)
        is_single = _unpack(archive, new, tally, depth)
        archive.unlink()
        if is_single:
            for child in new.iterdir():
                _move(child, archive.with_name(child.name), archive)
        else:
            _move(new, archive.with_name(_stem(archive.name)), archive)
    finally:
        files.remove(new)


def _move(source: Path, target: Path, archive: Path) -> None:
    """Move to a place that may be taken: by the same, which is enough, or by something else, which stays."""
    if target.exists() and not files.same(source, target):
        target = archive.with_name(f"{archive.name}.contents")
        if target.exists():
            raise PackError(f"{target} is there already, and nothing else can be called that. Rename it.")
    if not target.exists():
        source.rename(target)


def _unpack(archive: Path, new: Path, tally: Tally, depth: int) -> bool:
    """Fill a new folder; returns whether the archive held a single file, which then lies in it without folders."""
    if depth > tally.limits.nesting:
        raise tally.refuse(archive.name, f"lies more than {tally.limits.nesting} archives deep")
    made = [path for path in take_everything(archive, new, tally) if _JUNK not in path.relative_to(new).parts]
    files.remove(new / _JUNK)
    is_single = len(made) == 1
    if is_single and made[0].parent != new:
        made = [_lifted(made[0], new)]
    for path in sorted(made):
        if _is_archive(path):
            _replace(path, tally.within(f"{tally.archive} > {path.relative_to(new)}"), depth + 1)
    return is_single


def _lifted(path: Path, new: Path) -> Path:
    """Move the only file to the top, and remove the folders around it."""
    aside = new / f".{path.name[:200]}.only"
    path.rename(aside)
    for child in new.iterdir():
        if child != aside:
            files.remove(child)
    return aside.rename(new / path.name)


def _stem(name: str) -> str:
    """An archive's name without what says that it is one."""
    ending = next(end for end in SUFFIXES if name.lower().endswith(end))
    return name[: -len(ending)] or name
