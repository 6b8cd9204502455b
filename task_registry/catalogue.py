"""All tasks that are known here, from every folder of packs, for lists; nothing is prepared or run."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from openmle_env.errors import OpenMLEError
from openmle_env.task_registry.places import BUILT_IN, pack_folders, places

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from openmle_env.task_registry.index import IndexEntry
    from openmle_env.task_registry.places import Place


class Known(NamedTuple):
    """A task and where its pack lies."""

    entry: IndexEntry
    """What is known of it."""
    place: Place
    """The folder of packs that it is in."""

    @property
    def source(self) -> str:
        """``built-in``, the folder of packs, or the name of an entry point."""
        return self.place.name

    @property
    def folder(self) -> Path:
        """Folder of its pack."""
        return self.place.folder / self.entry.folder


def known(on_fault: Callable[[str], None] | None = None) -> list[Known]:
    """Every task, by its name, the built-in ones first among those of one name.

    A folder of packs without an index has all its packs opened and read for this.

    Args:
        on_fault: Told of each folder or pack that cannot be used, and is left out.

    Raises:
        UsageError: A folder cannot be told from ``OPENMLE_PACKS``.
        PackError: A folder or pack cannot be used, and there is no ``on_fault`` to be told.
    """
    found: list[Known] = []
    for place in places():
        try:
            found += _of(place, on_fault)
        except OpenMLEError as error:
            if on_fault is None or place == BUILT_IN:
                raise
            on_fault(str(error))
    return sorted(found, key=lambda task: task.entry.slug)  # stable: the order of places stays


def _of(place: Place, on_fault: Callable[[str], None] | None) -> list[Known]:
    indexed = place.tasks()
    if indexed is not None:
        return [Known(entry, place) for entry in indexed.values()]
    from openmle_env.task_registry.make_index import entry_of, open_named  # pydantic and more

    found = []
    for folder in pack_folders(place.folder).values():
        try:
            found.append(Known(entry_of(open_named(folder)), place))
        except OpenMLEError as error:
            if on_fault is None:
                raise
            on_fault(str(error))
    return found
