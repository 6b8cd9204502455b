"""The list of built-in tasks, from a JSON file: reading it costs no more than a millisecond and no other library.

`python -m openmle_env.task_registry.index --write` makes it from the packs.
"""

from __future__ import annotations

import json
import sys
from dataclasses import asdict, dataclass
from pathlib import Path

PACKS = Path(__file__).with_name("packs")
"""Folder of the built-in packs."""
INDEX = Path(__file__).with_name("index.json")
NAMESPACE = "OpenMLE"
"""Stands before the tasks' names in Gymnasium's registry."""
ENVIRONMENT_VERSION = 0
"""Version of the environment's behaviour: raised when the same pack would be played differently."""


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexEntry:
    """One built-in task."""

    slug: str
    """Its name."""
    version: str
    """Version of its pack."""
    hash: str
    """SHA-256 over the pack's files."""
    title: str
    """One line."""
    modality: str
    """tabular, text, image and so on."""
    task_type: str
    """binary classification, regression and so on."""


def environment_id(slug: str) -> str:
    """The Gymnasium id of a task.

    >>> environment_id("titanic")
    'OpenMLE/titanic-v0'
    """
    return f"{NAMESPACE}/{slug}-v{ENVIRONMENT_VERSION}"


def builtin() -> dict[str, IndexEntry]:
    """The built-in tasks by their names, sorted."""
    return {entry["slug"]: IndexEntry(**entry) for entry in json.loads(INDEX.read_bytes())}


def render() -> str:
    """The text of the index, made from the packs themselves.

    Raises:
        PackError: A pack cannot be used, or its folder has another name than its task.
    """
    from openmle_env.errors import PackError
    from openmle_env.task_registry.folder import open_pack  # imports pydantic

    entries = []
    for folder in sorted(path for path in PACKS.iterdir() if path.is_dir() and not path.name.startswith(("_", "."))):
        pack = open_pack(folder)
        config = pack.config
        if config.slug != folder.name:
            raise PackError(f"{folder} holds the task {config.slug!r}. Give the folder the task's name.")
        entry = IndexEntry(
            slug=config.slug,
            version=config.version,
            hash=pack.hash,
            title=config.title or config.slug,
            modality=config.modality,
            task_type=config.task_type,
        )
        entries.append(asdict(entry))
    return json.dumps(entries, indent=1, ensure_ascii=False) + "\n"


def main(arguments: list[str]) -> int:
    """Print the index, or write it with ``--write``."""
    if arguments not in ([], ["--write"]):
        sys.stderr.write("usage: python -m openmle_env.task_registry.index [--write]\n")
        return 2
    text = render()
    if arguments:
        INDEX.write_text(text, encoding="utf-8")
    else:
        sys.stdout.write(text)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
