"""Every task of an index in Gymnasium's registry, without importing Gymnasium for it.

Importing Gymnasium costs more than all the rest of this package, so the ids are inserted at once only where it is
there already, and otherwise right after somebody imports it. ``gymnasium.register`` looks at every known id for each
new one, which is quadratic; the registry is a plain dictionary, and is written directly.

Registered are the built-in tasks, then those of the folders in ``OPENMLE_PACKS`` and of other packages that have an
index; a folder without one is never searched for this. Where different tasks have the same name, the first is
registered, and making it raises an error that names both.
"""

from __future__ import annotations

import importlib.abc
import sys
import warnings
from typing import TYPE_CHECKING, Any

from openmle_env.errors import OpenMLEError, UsageError
from openmle_env.task_registry.index import environment_id  # costs no more than JSON

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from importlib.machinery import ModuleSpec
    from types import ModuleType

    from openmle_env.task_registry.index import IndexEntry

ENTRY_POINT = "openmle_env.envs.task_env:TaskEnv"
VECTOR_ENTRY_POINT = "openmle_env.envs.vector:make_vector"

_HOOKED = "gymnasium.envs"


def register_tasks() -> None:
    """Register the tasks now, or as soon as Gymnasium is imported; a second call changes nothing."""
    if _HOOKED in sys.modules:
        _insert_tasks()
    elif not any(isinstance(finder, _AfterGymnasium) for finder in sys.meta_path):
        sys.meta_path.insert(0, _AfterGymnasium())


def register(entries: Iterable[IndexEntry]) -> None:
    """Insert tasks into Gymnasium's registry; all of them or, where one clashes, none.

    Raises:
        UsageError: An id is taken by something else, or is not one that Gymnasium can parse.
    """
    from gymnasium import error  # see the module's docstring
    from gymnasium.envs.registration import EnvSpec, registry

    new: dict[str, EnvSpec] = {}
    for entry in entries:
        name = environment_id(entry.slug)
        try:
            spec = EnvSpec(
                name,
                entry_point=ENTRY_POINT,
                vector_entry_point=VECTOR_ENTRY_POINT,
                nondeterministic=True,
                kwargs={"task": entry.slug, "pack_version": entry.version, "pack_hash": entry.hash},
            )
        except error.Error as problem:
            raise UsageError(f"Task {entry.slug!r} cannot be registered with Gymnasium: {problem}") from problem
        known = new.get(name, registry.get(name))
        if known is not None and known != spec:
            raise UsageError(
                f"The environment id {name!r} is taken by {known.entry_point} with {known.kwargs}. "
                "Rename the task, or remove the other registration."
            )
        new[name] = spec
    registry.update(new)


def _insert_tasks() -> None:
    """Insert every task of an index. What is wrong with somebody's folder is a warning: the import is not to fail."""
    from openmle_env.task_registry.places import BUILT_IN, places  # read only where there is a registry to fill

    seen: set[str] = set()
    try:
        found = places()
    except UsageError as error:
        warnings.warn(f"Only built-in tasks are registered with Gymnasium: {error}", stacklevel=2)
        found = (BUILT_IN,)
    for place in found:
        try:
            known = place.tasks() or {}
            register(entry for slug, entry in known.items() if slug not in seen)
        except OpenMLEError as error:
            if place == BUILT_IN:
                raise
            warnings.warn(f"The tasks of {place.folder} are not registered with Gymnasium: {error}", stacklevel=2)
            continue
        seen |= known.keys()


class _AfterGymnasium(importlib.abc.MetaPathFinder):
    """Lets others find ``gymnasium.envs``, and registers our tasks once it is loaded with its own."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if fullname != _HOOKED or self not in sys.meta_path:
            return None
        spec = self._ask_others(fullname, path, target)
        if spec is not None and spec.loader is not None:
            spec.loader = _Loader(spec.loader, self)
        return spec

    def _ask_others(self, fullname: str, path: Sequence[str] | None, target: ModuleType | None) -> ModuleSpec | None:
        # Away meanwhile: another hook that asks others, too, would ask this one, and so on without end.
        place = sys.meta_path.index(self)
        sys.meta_path.remove(self)
        try:
            for finder in list(sys.meta_path):
                find_spec = getattr(finder, "find_spec", None)  # old finders have none
                spec: ModuleSpec | None = find_spec(fullname, path, target) if find_spec else None
                if spec is not None:
                    return spec
            return None
        finally:
            sys.meta_path.insert(place, self)


class _Loader(importlib.abc.Loader):
    """Loads like the loader that it stands for, then gives its place back to it."""

    def __init__(self, real: Any, finder: _AfterGymnasium) -> None:
        self._real = real
        self._finder = finder

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        module: ModuleType | None = self._real.create_module(spec)
        return module

    def exec_module(self, module: ModuleType) -> None:
        module.__loader__ = self._real
        if module.__spec__ is not None:
            module.__spec__.loader = self._real
        self._real.exec_module(module)
        if self._finder in sys.meta_path:
            sys.meta_path.remove(self._finder)
        _insert_tasks()
