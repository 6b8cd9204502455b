"""OpenMLE packs with a ``pack.yaml`` beside them: full ones, with their data, and those of scripts only."""

from __future__ import annotations

import csv
import io
from typing import TYPE_CHECKING

from openmle_env.errors import PackError, UsageError
from openmle_env.task_registry.folder import DESCRIPTIONS
from openmle_env.task_registry.importers import peer_code
from openmle_env.task_registry.importers.drafts import Draft, checked_name, read_text, source_of
from openmle_env.task_registry.importers.mlebench import METRIC, preparation
from openmle_env.task_registry.importers.mledojo import script

if TYPE_CHECKING:
    from pathlib import Path

OVERVIEW = "overview.csv"
"""A table of tasks, with a byte-order mark, that lies in the folder or above it: modality and kind of each."""


def names(folder: Path) -> list[str]:
    """The packs of a folder, or the folder itself where it is one.

    Raises:
        UsageError: There is none.
    """
    if (folder / "utils").is_dir():
        return [folder.name]
    found = sorted(path.parent.name for path in folder.glob("*/utils") if path.is_dir())
    if not found:
        raise UsageError(
            f"{folder} holds no OpenMLE pack: a pack is a folder with utils/prepare.py and utils/metric.py."
        )
    return found


def draft(folder: Path, name: str, raw: Path | None) -> Draft:
    """The pack of one task.

    Args:
        folder: The pack's folder, or the one that holds it.
        name: The task.
        raw: Folder with its raw data, where the pack has none of its own; None if it is not there yet.

    Raises:
        PackError: The pack cannot be taken over; the message says why.
    """
    checked_name(name)
    root = folder if (folder / "utils").is_dir() else folder / name
    metric = script(root / METRIC)
    if not peer_code.has_metric(metric):
        raise PackError(f"{name}: utils/metric.py has no class with evaluate().")
    made = Draft(name=name, config={})
    full = (root / "data/private/test_answer.csv").is_file()
    if full:
        made.add_folder(root / "data", "data")
        made.contents["utils/metric.py"] = metric
        if (root / "utils/prepare.py").is_file():
            made.contents["utils/prepare.py"] = root / "utils/prepare.py"
        made.notes.append("its finished data is taken as it is")
    else:
        if not peer_code.has_function(script(root / "utils/prepare.py"), "prepare"):
            raise PackError(f"{name}: utils/prepare.py has no function prepare() that does anything.")
        made.add_folder(root / "utils", "utils")
        own = root / "raw"
        raw = own if own.is_dir() and any(own.iterdir()) else raw
        if raw is not None:
            made.add_folder(raw, "raw")
    made.config = {
        "slug": made.slug,
        "version": "1.0.0",
        "title": name,
        **_overview(root, name),
        "metric": {"name": "pack"},
        "data": {"licence": "the rules of its source", "source": source_of("OpenMLE packs", name, root)},
    }
    if not full:
        made.config["preparation"] = preparation(raw)
    if not any(one in made.contents for one in DESCRIPTIONS):
        made.config["description"] = _describe(made, root)
    return made


def _describe(made: Draft, root: Path) -> str:
    for name in ("description.md", "description.txt", *DESCRIPTIONS, "raw/description.md", "raw/description.txt"):
        if (root / name).is_file():
            inside = f"description{(root / name).suffix}"
            made.contents[inside] = root / name
            return inside
    raise PackError(f"{made.name} has no description. Put its text into {root / 'description.md'}.")


def _overview(root: Path, name: str) -> dict[str, object]:
    for folder in (root, *list(root.parents)[:2]):
        path = folder / OVERVIEW
        if path.is_file():
            try:
                rows = list(csv.DictReader(io.StringIO(read_text(path), newline="")))
            except csv.Error as error:
                raise PackError(f"{path} cannot be read as a table: {error}.") from error
            for row in rows:
                if row.get("Name") == name:
                    said = {"modality": row.get("Modality"), "task_type": row.get("Task")}
                    found: dict[str, object] = {key: value.strip().lower() for key, value in said.items() if value}
                    if (row.get("CPU/GPU") or "").strip().upper() == "GPU":
                        found["hardware"] = {"note": "meant for a GPU"}
                    return found
    return {}
