"""The index of a folder of packs: one JSON file from which thousands of tasks are known without opening a pack.

The file is a JSON object: ``format``, ``fields`` and ``tasks``, one list of values for each task, each in a line of its
own, so that a change of one task is a change of one line. Reading 6,000 tasks takes about 10 ms and imports nothing
but JSON. `openmle_env.task_registry.make_index` writes it; ``python -m openmle_env.task_registry.index --write`` does
so for the built-in packs.
"""

from __future__ import annotations

import json
import re
import sys
from functools import lru_cache
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

from openmle_env.errors import OpenMLEError, PackError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

PACKS = Path(__file__).with_name("packs")
"""Folder of the built-in packs."""
INDEX = Path(__file__).with_name("index.json")
"""Index of the built-in packs. Any other folder of packs holds its own, under the same name."""
NAMESPACE = "OpenMLE"
"""Stands before the tasks' names in Gymnasium's registry."""
ENVIRONMENT_VERSION = 0
"""Version of the environment's behaviour: raised when the same pack would be played differently."""
FORMAT = 3
"""Of the file. An older one is made again by `openmle_env.task_registry.make_index`."""
MAX_SLUG = 100
"""Characters of the longest name of a task."""


class IndexEntry(NamedTuple):
    """What is known of a task without opening its pack."""

    slug: str
    """Its name."""
    version: str
    """Version of its pack."""
    hash: str
    """SHA-256 over the pack's files."""
    score_hash: str
    """SHA-256 over what decides scores (see `openmle_env.task_registry.versions`)."""
    folder: str
    """Name of the pack's folder, beside the index."""
    title: str
    """One line."""
    modality: str
    """tabular, text, image and so on; combinations are joined by ``+``."""
    task_type: str
    """binary classification, regression and so on."""
    metric: str
    """Name of the metric; ``pack`` for the pack's own."""
    higher_is_better: bool | None
    """Its direction; None where only the pack's own metric knows it."""
    licence: str
    """Licence of the data."""
    size: int
    """Bytes of the data: what the pack carries, and what is fetched."""
    fetched: bool
    """Whether data is fetched when the pack is prepared; otherwise the pack carries all of it."""
    gpus: int
    """Graphics processors that a program gets."""
    origin: str
    """What it is made of, where other tasks are made of the same; else empty."""
    tier: int
    """1: sound, and tells good agents from bad ones; 2: usable; 3: for trying things out."""


_FOLDER = re.compile(r"[^./\0][^/\0]*")
_TYPES: dict[str, set[type]] = {
    **{name: {str} for name in IndexEntry._fields},
    **{name: {int} for name in ("size", "gpus", "tier")},
    "higher_is_better": {bool, type(None)},
    "fetched": {bool},
}


def environment_id(slug: str) -> str:
    """The Gymnasium id of a task.

    >>> environment_id("titanic")
    'OpenMLE/titanic-v0'
    """
    return f"{NAMESPACE}/{slug}-v{ENVIRONMENT_VERSION}"


def slug_of(name: str) -> str:
    """The name that a task gets from a folder's, or from the name that a competition has elsewhere.

    >>> slug_of("AI4Code"), slug_of("My Task (2)"), slug_of("...")
    ('ai4code', 'my-task-2', 'task')
    """
    return re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")[:MAX_SLUG].rstrip("-") or "task"


def builtin() -> Mapping[str, IndexEntry]:
    """The built-in tasks by their names, sorted."""
    return read(INDEX)


def read(path: Path) -> Mapping[str, IndexEntry]:
    """The tasks of an index by their names, sorted.

    It is read again only where the file has changed.

    Raises:
        FileNotFoundError: There is no such file.
        PackError: It cannot be read, or is no index of this version.
    """
    try:
        status = path.stat()
    except FileNotFoundError:
        raise
    except OSError as error:
        raise PackError(f"{path} cannot be read: {error.strerror or error}.") from error
    return _read(path, status.st_mtime_ns, status.st_size, status.st_ino)


@lru_cache(maxsize=64)
def _read(path: Path, *_state: int) -> Mapping[str, IndexEntry]:
    again = f"Make it again: openmle pack index {path.parent}"
    try:
        content = json.loads(path.read_bytes())
    except OSError as error:
        raise PackError(f"{path} cannot be read: {error.strerror or error}.") from error
    except (ValueError, RecursionError) as error:  # no JSON, or no UTF-8
        raise PackError(f"{path} is no index of task packs ({error}). {again}") from error
    fault = _fault(content)
    if fault:
        raise PackError(f"{path} is no index of task packs that this version reads: {fault}. {again}")
    entries = {entry.slug: entry for entry in map(IndexEntry._make, content["tasks"])}
    return MappingProxyType(entries)


def _fault(content: Any) -> str:
    """What is wrong with the contents of an index; empty for nothing. Checked by columns, which is fast."""
    if not isinstance(content, dict) or not isinstance(tasks := content.get("tasks"), list):
        return "it is no object with a list 'tasks'"
    if content.get("format") != FORMAT or content.get("fields") != list(IndexEntry._fields):
        return f"its format is {content.get('format')!r}, and {FORMAT} is known"
    if not {type(row) for row in tasks} <= {list} or not {len(row) for row in tasks} <= {len(IndexEntry._fields)}:
        return "a task has another number of values than 'fields'"
    columns = dict(zip(IndexEntry._fields, zip(*tasks, strict=True), strict=False))  # no columns if no tasks
    for name, values in columns.items():
        if strangers := set(map(type, values)) - _TYPES[name]:
            return f"a {name!r} is of type {strangers.pop().__name__}"
    for name in ("size", "gpus", "tier"):
        if tasks and not 0 <= min(columns[name]) <= max(columns[name]) < 1 << 63:
            return f"a {name!r} is out of range"
    if len(set(columns.get("slug", ()))) != len(tasks):
        return "a task stands twice"
    folders = columns.get("folder", ())
    if not all(map(_FOLDER.fullmatch, folders)):
        stranger = next(folder for folder in folders if not _FOLDER.fullmatch(folder))
        return f"{stranger!r} is not the name of a folder beside it"
    return ""


def text_of(entries: Iterable[IndexEntry]) -> str:
    """The text of an index file."""
    rows = ",\n".join(json.dumps(entry, ensure_ascii=False) for entry in sorted(entries))
    fields = json.dumps(IndexEntry._fields)
    return f'{{"format": {FORMAT}, "fields": {fields}, "tasks": [\n{rows}\n]}}\n'


def render() -> str:
    """The text of the index of the built-in packs, made from the packs themselves.

    Raises:
        PackError: A pack cannot be used, or its folder has another name than its task.
    """
    from openmle_env.task_registry.make_index import entries  # pydantic and more

    return text_of(entries(PACKS))


def main(arguments: list[str]) -> int:
    """Print the index of the built-in packs, or write it with ``--write``.

    Where a pack would give other scores under the version that it had, nothing is written; ``--unreleased`` says that
    the version was never released.
    """
    if arguments not in ([], ["--write"], ["--write", "--unreleased"]):
        sys.stderr.write("usage: python -m openmle_env.task_registry.index [--write [--unreleased]]\n")
        return 2
    if not arguments:
        sys.stdout.write(render())
        return 0
    from openmle_env.task_registry.make_index import write  # pydantic and more

    try:
        write(PACKS, INDEX, released="--unreleased" not in arguments)
    except OpenMLEError as error:
        sys.stderr.write(f"{error}\n")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
