"""Importing many tasks: which ones, one after the other, and what came of each."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Literal

from openmle_env.errors import DiskFullError, PackError, UsageError, unknown_name
from openmle_env.task_registry import files
from openmle_env.task_registry.importers import drafts, mlebench, mledojo, openmle
from openmle_env.task_registry.importers.drafts import Outcome, Status, slug_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

Collection = Literal["openmle", "mlebench", "mledojo"]
COLLECTIONS: tuple[Collection, ...] = ("openmle", "mlebench", "mledojo")
RAW_PLACES = ("{name}/raw", "{name}")
"""Where a task's raw files may lie below the folder that is given for all: MLE-bench's own cache has the first."""


def choose(collection: Collection, path: Path, only: Sequence[str]) -> list[str]:
    """The names of the tasks to import.

    Args:
        collection: Whose tasks.
        path: The checkout or folder.
        only: These; all, if empty.

    Raises:
        UsageError: There is no such folder, or it is none of that collection.
        UnknownNameError: One of ``only`` is not there.
        PackError: Two tasks would have the same name here.
    """
    if not files.is_folder(path):
        raise UsageError(f"There is no folder {str(path)!r}. Give a checkout or a folder of packs.")
    path = path.resolve()  # a name and what lies above are not known of "."
    known = {"openmle": openmle.names, "mlebench": mlebench.names, "mledojo": mledojo.names}[collection](path)
    for name in only:
        if name not in known:
            raise unknown_name("task", name, known, hint=f"{path} holds {len(known)}.")
    chosen = list(dict.fromkeys(only)) if only else known
    counts = Counter(slug_of(name) for name in chosen if drafts.NAME.fullmatch(name))
    if doubled := [name for name in chosen if counts[slug_of(name)] > 1]:
        raise PackError(f"{' and '.join(doubled)} would both be called {slug_of(doubled[0])!r} here. Name one of them.")
    return chosen


def run(
    collection: Collection,
    path: Path,
    chosen: Sequence[str],
    to: Path,
    *,
    raw: Path | None = None,
    compat: bool = False,
    force: bool = False,
    progress: Callable[[str, float], None] | None = None,
) -> Iterator[Outcome]:
    """Import tasks one after the other; one that fails does not stop the others.

    Args:
        collection: Whose tasks.
        path: The checkout or folder.
        chosen: Their names, from `choose`.
        to: Folder for the packs.
        raw: Folder that holds the raw files of each, as ``<name>/raw`` or ``<name>``.
        compat: For MLE-bench: score by its own graders.
        force: Write a pack again that is there and differs.
        progress: Told which task is at work, and the share that is done, from 0 to 1.

    Raises:
        DiskFullError: No space is left: the others would fail, too.
    """
    path = path.resolve()
    for number, name in enumerate(chosen):
        if progress is not None:
            progress(name, number / len(chosen))
        try:
            made = _draft(collection, path, name, _raw_of(raw, name), compat=compat)
            yield drafts.write(made, to, force=force)
        except DiskFullError:
            raise
        except PackError as error:
            yield Outcome(name=name, slug=slug_of(name), status=Status.FAILED, reason=str(error))


def _draft(collection: Collection, path: Path, name: str, raw: Path | None, *, compat: bool) -> drafts.Draft:
    if collection == "mlebench":
        return mlebench.draft(path, name, raw, compat=compat)
    if collection == "mledojo":
        return mledojo.draft(path, name, raw)
    return openmle.draft(path, name, raw)


def _raw_of(raw: Path | None, name: str) -> Path | None:
    if raw is None:
        return None
    places = (raw / place.format(name=name) for place in RAW_PLACES)
    try:
        return next((place for place in places if files.is_folder(place) and any(place.iterdir())), None)
    except OSError as error:
        raise PackError(f"{error.filename} cannot be read: {error.strerror}.") from error
