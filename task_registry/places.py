"""Where task packs lie: in this package, in the folders of ``OPENMLE_PACKS``, and in other packages.

A folder of packs holds one folder for each pack, named as its task, and, if it has one, an index (see
`openmle_env.task_registry.index`). Another package offers such a folder by an entry point of the group
``openmle_env.packs``, whose value is a module or package: its folder is found without importing it. Entry points are
read straight from the files that installers leave on ``sys.path``, since `importlib.metadata` costs an import more than
all the rest of this package.
"""

from __future__ import annotations

import errno
import os
import sys
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

from openmle_env import settings
from openmle_env.errors import PackError
from openmle_env.task_registry import index

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping

    from openmle_env.task_registry.index import IndexEntry

GROUP = "openmle_env.packs"
"""Group of the entry points."""
_PARTS = ("pack.yaml", "data", "utils")
"""A folder with one of these is a pack."""


@dataclass(frozen=True, slots=True)
class Place:
    """A folder of packs."""

    name: str
    """``built-in``, the folder as text, or the name of an entry point."""
    folder: Path
    """Where the packs lie."""
    index_file: Path
    """Where its index is, if it has one."""

    def tasks(self) -> Mapping[str, IndexEntry] | None:
        """Its tasks by their names; None where it has no index.

        Raises:
            PackError: The index cannot be used, or there is no such folder.
        """
        try:
            return index.read(self.index_file)
        except FileNotFoundError:
            if not self.folder.is_dir():
                raise PackError(
                    f"There is no folder {self.folder}, where task packs should be. {self._remedy()}"
                ) from None
            return None

    def names(self) -> Collection[str]:
        """The names of its tasks; without an index those that their folders' names make, and no pack is opened.

        Raises:
            PackError: As for `tasks`; or two folders are the same task by their names.
        """
        known = self.tasks()
        return pack_folders(self.folder) if known is None else known.keys()

    def folder_of(self, name: str) -> Path:
        """Folder of the pack of a task that `names` holds.

        Raises:
            PackError: As for `names`.
            KeyError: There is no task of this name.
        """
        known = self.tasks()
        return pack_folders(self.folder)[name] if known is None else self.folder / known[name].folder

    @property
    def is_of_setting(self) -> bool:
        """Whether ``OPENMLE_PACKS`` names it."""
        return self.name == str(self.folder)

    def _remedy(self) -> str:
        if self.is_of_setting:
            return "Correct OPENMLE_PACKS."
        return f"The package of the entry point {self.name!r} is not whole: install it again."


BUILT_IN = Place("built-in", index.PACKS, index.INDEX)
"""The tasks of this package."""


def places() -> tuple[Place, ...]:
    """Every folder of packs, the built-in one first; a folder that is named twice counts once.

    Raises:
        UsageError: A folder cannot be told from ``OPENMLE_PACKS``.
    """
    others = [Place(str(folder), folder, folder / index.INDEX.name) for folder in settings.pack_folders()]
    found: dict[str, Place] = {}
    for place in (BUILT_IN, *others, *packages()):
        found.setdefault(os.path.realpath(place.folder), place)
    return tuple(found.values())


def pack_folders(folder: Path) -> dict[str, Path]:
    """The folders of packs in ``folder`` by the names of their tasks, sorted; hidden ones, and ``_...``, are no packs.

    Raises:
        PackError: It cannot be read, is a pack itself, or two folders are the same task by their names.
    """
    found: dict[str, Path] = {}
    try:
        names = sorted(entry.name for entry in os.scandir(folder) if entry.is_dir() and entry.name[0] not in "._")
    except OSError as error:
        raise PackError(f"{folder} cannot be read: {error.strerror or error}.") from error
    if (folder / "pack.yaml").is_file():
        raise PackError(f"{folder} is a task pack itself. Name the folder that holds it: {folder.parent}")
    for name in names:
        path = folder / name
        if not any(_is_there(path / part) for part in _PARTS):
            continue
        slug = index.slug_of(name)
        if slug in found:
            raise PackError(f"{found[slug]} and {path} are both the task {slug!r}. Rename one of them.")
        found[slug] = path
    return dict(sorted(found.items()))


def _is_there(path: Path) -> bool:
    """Whether something is there, or may be: what cannot be looked into is told of where it is opened."""
    try:
        path.lstat()
    except OSError as error:
        return error.errno == errno.EACCES
    return True


def packages() -> tuple[Place, ...]:
    """The folders of packs that other packages offer, in the order of ``sys.path``; none of them is imported."""
    state = tuple((folder, _changed(folder)) for folder in dict.fromkeys(sys.path))
    return _packages(state)


def _changed(folder: str) -> int:
    try:
        return os.stat(folder or ".").st_mtime_ns  # noqa: PTH116  a Path for each costs more than the call
    except (OSError, ValueError):
        return -1


@lru_cache(maxsize=8)
def _packages(state: tuple[tuple[str, int], ...]) -> tuple[Place, ...]:
    found: dict[str, Place] = {}
    for folder, changed in state:
        for name, module in _entry_points(folder or ".") if changed >= 0 else ():
            place = _module_folder(module)
            if place is not None and name not in found:
                found[name] = Place(name, place, place / index.INDEX.name)
    return tuple(found.values())


def _entry_points(folder: str) -> Iterator[tuple[str, str]]:
    """Name and module of each entry point of our group in one folder of ``sys.path``."""
    try:
        names = sorted(name for name in os.listdir(folder) if name.endswith((".dist-info", ".egg-info")))  # noqa: PTH208
    except OSError:  # a zip file, or gone
        return
    marker = f"[{GROUP}]"
    for name in names:
        try:
            with open(f"{folder}/{name}/entry_points.txt", encoding="utf-8") as file:  # noqa: PTH123  as above
                text = file.read()
        except (OSError, ValueError):
            continue  # most have none
        if marker not in text:
            continue
        inside = False
        for line in map(str.strip, text.splitlines()):
            if line.startswith("["):
                inside = line == marker
            elif inside and "=" in line and not line.startswith(("#", ";")):
                left, _, right = line.partition("=")
                yield left.strip(), right.partition("[")[0].partition(":")[0].strip()


def _module_folder(module: str) -> Path | None:
    """The folder of a module that is installed, without importing it or the packages around it."""
    from importlib.util import find_spec  # only where a package offers packs

    top, *inner = module.split(".")
    try:
        spec = find_spec(top)
    except (ImportError, ValueError):
        return None
    if spec is None:
        return None
    for location in spec.submodule_search_locations or ():
        folder = Path(location, *inner)
        if folder.is_dir():
            return folder
        if folder.with_suffix(".py").is_file():
            return folder.parent
    return Path(spec.origin).parent if spec.has_location and spec.origin and not inner else None
