"""Suites: lists of tasks that are prepared, run and reported together.

``smoke`` and ``core`` are written in ``suites.json``, and ``all`` is every built-in task. A suite of one's own is a
JSON file, ``{"suite": "mine", "tasks": ["titanic", {"task": "bikes", "version": "1.0.0", "hash": "..."}]}``: a member
that states a version or a hash is that pack and no other. What is reported of a suite is divided by the number of its
members: a member that cannot be had counts as failed, and never leaves the list.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable  # noqa: TC003  pydantic reads the annotations
from pathlib import Path
from typing import Annotated

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError, field_validator

from openmle_env.errors import OpenMLEError, UsageError, unknown_name
from openmle_env.files import write_whole
from openmle_env.task_registry import index
from openmle_env.task_registry.folder import Pack  # noqa: TC001  as above

SUITES = Path(__file__).with_name("suites.json")
"""The suites of this package: their names, and the names of their tasks."""
ALL = "all"


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


class Member(_Strict):
    """A task of a suite."""

    task: Annotated[str, Field(min_length=1)]
    """Its name, or the folder of its pack."""
    version: str | None = None
    """Version of the pack; any, if left out."""
    hash: str | None = None
    """Hash of the pack; any, if left out."""


def _member(value: object) -> object:
    return {"task": value} if isinstance(value, str) else value


class Suite(_Strict):
    """A list of tasks."""

    suite: Annotated[str, Field(min_length=1)]
    """Its name."""
    tasks: Annotated[tuple[Annotated[Member, BeforeValidator(_member)], ...], Field(min_length=1, strict=False)]
    """Its members."""

    @field_validator("tasks")
    @classmethod
    def _differ(cls, value: tuple[Member, ...]) -> tuple[Member, ...]:
        names = [member.task for member in value]
        if twice := next((name for name in names if names.count(name) > 1), None):
            raise ValueError(f"the task {twice!r} stands twice")
        return value

    @property
    def denominator(self) -> int:
        """The number of tasks that results of the suite are divided by: all of them, obtained or not."""
        return len(self.tasks)

    def gaps(self, find: Callable[[str], Pack]) -> dict[str, str]:
        """The members that cannot be had here as the suite states them, each with the reason.

        Args:
            find: Opens a pack: `openmle_env.task_registry.lookup.find`.
        """
        found: dict[str, str] = {}
        for member in self.tasks:
            try:
                pack = find(member.task)
            except OpenMLEError as error:
                found[member.task] = str(error)
                continue
            for what, wanted, here in (("version", member.version, pack.version), ("hash", member.hash, pack.hash)):
                if wanted not in {None, here}:
                    found.setdefault(
                        member.task, f"The suite is of {what} {wanted} of {member.task}, and {here} is here."
                    )
        return found


def names() -> list[str]:
    """The suites of this package."""
    return [*_written(), ALL]


def load(name_or_file: str | Path) -> Suite:
    """A suite by its name, or from a file: a text is a file if it holds a separator or ends with ``.json``.

    Raises:
        UnknownNameError: There is no suite of this name.
        UsageError: The file cannot be read, or is no suite.
    """
    if isinstance(name_or_file, Path) or "/" in name_or_file or name_or_file.endswith(".json"):
        return _read(Path(name_or_file))
    if name_or_file == ALL:
        return Suite(suite=ALL, tasks=tuple(map(_named, index.builtin())))
    written = _written()
    if name_or_file not in written:
        raise unknown_name("suite", name_or_file, names(), hint="For a file of your own, say './suite.json'.")
    return Suite(suite=name_or_file, tasks=tuple(map(_named, written[name_or_file])))


def members(name_or_file: str | Path) -> list[str]:
    """The tasks of a suite, as `openmle_env.task_registry.lookup.find` takes them.

    Raises:
        UnknownNameError: There is no suite of this name.
        UsageError: The file cannot be read, or is no suite.
    """
    return [member.task for member in load(name_or_file).tasks]


def write(path: Path, name: str, packs: Iterable[Pack | index.IndexEntry]) -> None:
    """Write a suite of exactly these packs, each with its version and hash.

    Raises:
        UsageError: There are none, or the file is no ``.json`` file or cannot be written.
    """
    pinned = tuple(Member(task=pack.slug, version=pack.version, hash=pack.hash) for pack in packs)
    if not pinned:
        raise UsageError("No task is left for the suite. Loosen the filters.")
    if path.suffix != ".json":
        raise UsageError(f"{path} should end with .json, so that it is told from the name of a suite.")
    try:
        suite = Suite(suite=name, tasks=pinned)
        write_whole(path, (json.dumps(suite.model_dump(), indent=1) + "\n").encode())
    except ValidationError as error:
        raise UsageError(f"These tasks make no suite: {_worded(error)}.") from error
    except OSError as error:
        raise UsageError(f"{path} cannot be written: {error.strerror or error}.") from error


def _named(task: str) -> Member:
    return Member(task=task)


def _written() -> dict[str, list[str]]:
    found: dict[str, list[str]] = json.loads(SUITES.read_bytes())
    return found


def _read(path: Path) -> Suite:
    try:
        return Suite.model_validate(json.loads(path.read_bytes()))
    except OSError as error:
        raise UsageError(f"The suite {path} cannot be read: {error.strerror or error}.") from error
    except ValidationError as error:
        raise UsageError(f"{path} is no suite: {_worded(error)}.") from error
    except (ValueError, RecursionError) as error:  # no JSON, or no UTF-8
        raise UsageError(f"{path} is no suite, since it is no JSON: {error}.") from error


def _worded(error: ValidationError) -> str:
    fault = error.errors()[0]
    place = ".".join(str(part) for part in fault["loc"])
    return f"{place}: {fault['msg'].removeprefix('Value error, ')}"
