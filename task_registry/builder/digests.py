"""What a stage has read, as one hash, without reading again what did not change."""

from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING

from openmle_env.files import write_whole
from openmle_env.task_registry import files

if TYPE_CHECKING:
    from pathlib import Path


def digest(*parts: str) -> str:
    """SHA-256 of some texts; where one ends and the next begins counts."""
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()


def text_digest(*paths: Path) -> str:
    """SHA-256 of some small files; a missing one counts as such."""
    return digest(*(hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else "" for path in paths))


def tree_digest(folder: Path, known: Path | None = None) -> str:
    """SHA-256 over the names and contents of all files below a folder.

    ``known`` keeps the hash of each file by size and time of change, so that gigabytes are read once; a file that
    changes and keeps both is not noticed.

    Raises:
        PackError: Something below it is no plain file, or cannot be read.
    """
    before = _load(known)
    found: dict[str, list[int | str]] = {}
    for name, path in files.tree(folder, everything=True).items():
        status = path.stat()
        signs = [status.st_size, status.st_mtime_ns]
        old = before.get(name)
        found[name] = old if old is not None and old[:2] == signs else [*signs, files.sha256(path)]
    if known is not None and found != before:
        write_whole(known, json.dumps(found).encode())
    return digest(*(f"{name}\0{entry[2]}" for name, entry in found.items()))


def file_hashes(known: Path) -> dict[str, str]:
    """SHA-256 of each file by its name, as `tree_digest` kept them; empty where it did not yet."""
    return {name: str(entry[2]) for name, entry in _load(known).items()}


def changes(before: dict[str, str], after: dict[str, str]) -> list[str]:
    """Which files are others than before, in words.

    >>> changes({"a": "1", "b": "2"}, {"a": "3", "c": "4"})
    ['a changed: its SHA-256 was 1 and is 3', 'b is gone', 'c is new']
    """
    said = []
    for name in sorted(before.keys() | after.keys()):
        if name not in after:
            said.append(f"{name} is gone")
        elif name not in before:
            said.append(f"{name} is new")
        elif before[name] != after[name]:
            said.append(f"{name} changed: its SHA-256 was {before[name]} and is {after[name]}")
    return said


def _load(path: Path | None) -> dict[str, list[int | str]]:
    if path is None:
        return {}
    try:
        values = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    if not isinstance(values, dict):
        return {}
    return {name: entry for name, entry in values.items() if isinstance(entry, list) and len(entry) == 3}
