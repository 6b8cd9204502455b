"""The raw data of a pack, and how much of it the task uses."""

from __future__ import annotations

import re
from contextlib import ExitStack
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Literal

from openmle_env.task_registry.folder import PREPARE_SCRIPT
from openmle_env.task_registry.quality.features import BLANKS
from openmle_env.task_registry.quality.report import RawTable, Usage
from openmle_env.task_registry.quality.scan import SUFFIXES, Scan, scan
from openmle_env.task_registry.quality.subject import TRAIN

if TYPE_CHECKING:
    from pathlib import Path

    from openmle_env.task_registry.folder import Pack
    from openmle_env.task_registry.quality.subject import Subject

MAX_TABLES = 50
"""As many raw tables are read."""
_WHOLE_FOLDER = re.compile(r"\b(?:r?glob|iterdir|walk|listdir|scandir|namelist|infolist)\b")


def raw_files(pack: Pack) -> dict[str, Path]:
    """The raw files that the pack carries, by their names below ``raw/``."""
    return {name.removeprefix("raw/"): path for name, path in pack.members.items() if name.startswith("raw/")}


def scans(pack: Pack) -> dict[str, Scan]:
    """The raw tables that the pack carries, and those that were fetched for it; nothing is fetched here.

    Raises:
        PackError: A fetched archive is not what the pack says.
        PreparationError: A fetched archive is damaged.
    """
    from openmle_env.task_registry import raw_inputs
    from openmle_env.task_registry.downloads import store

    with ExitStack() as stack:
        found = raw_files(pack)
        if pack.config.downloads and not store.missing_bytes(pack.config.downloads):
            from openmle_env.task_registry import files

            folder = stack.enter_context(raw_inputs.folders(pack, lambda _message, _share: None))["/data/raw"]
            found = files.tree(folder)
        tables = [name for name in found if name.lower().endswith(SUFFIXES)]
        return {name: scan(found[name], f"raw/{name}") for name in tables[:MAX_TABLES]}


def usage(subject: Subject) -> Usage:
    """How much of the raw data the task uses, as far as its tables tell."""
    pack = subject.pack
    targets = set(subject.truth_names) | {target.name for target in subject.schema.targets}
    tables = []
    for name, table in subject.raw_tables.items():
        labelled = _labelled(table, targets) if targets & set(table.names) else None
        tables.append(RawTable(name=name, rows=table.rows, columns=table.names, labelled_rows=labelled))
    with_target = [table for table in tables if table.labelled_rows is not None]
    train = _labelled(subject.table(TRAIN), targets) if TRAIN in subject.public_files else 0
    test = subject.answers.rows
    labelled_rows = sum(table.labelled_rows or 0 for table in with_target) if with_target else None
    return Usage(
        raw_tables=tuple(tables),
        raw_rows=sum(table.rows for table in with_target) if with_target else None,
        labelled_raw_rows=labelled_rows,
        train_rows=train,
        test_rows=test,
        conserved=None if labelled_rows is None else train + test == labelled_rows,
        labelled_share=(train + test) / labelled_rows if labelled_rows else None,
        raw_test_role=_role(tables, script(pack)),
        unused_raw_files=tuple(unused(pack)),
    )


def _labelled(table: Scan, targets: set[str]) -> int:
    """The rows whose target is filled, estimated where rows were sampled; all, where there is no target."""
    present = sorted(targets & set(table.names))
    if not present or not len(table.positions):
        return table.rows
    filled = sum(1 for cell in table.cells[present[0]] if cell.strip() not in BLANKS)
    return round(filled * table.rows / len(table.positions))


def _role(
    tables: list[RawTable], text: str
) -> Literal["none", "unlabelled_and_left_out", "unlabelled_and_used", "labelled", "unknown"]:
    """What became of a raw table called test."""
    tests = [table for table in tables if "test" in PurePosixPath(table.name).name.lower()]
    if not tests:
        return "none" if tables else "unknown"
    if any(table.labelled_rows for table in tests):
        return "labelled"
    used = any(PurePosixPath(table.name).name in text for table in tests)
    return "unlabelled_and_used" if used else "unlabelled_and_left_out"


def script(pack: Pack) -> str:
    """The text of the pack's script; empty where it has none."""
    return pack.text(PREPARE_SCRIPT) if PREPARE_SCRIPT in pack.members else ""


def unused(pack: Pack) -> list[str]:
    """Raw files that the script does not name, where it lists no folder, in which case it may read all."""
    text = script(pack)
    if not text or _WHOLE_FOLDER.search(text):
        return []
    return [
        name
        for name in raw_files(pack)
        if PurePosixPath(name).name not in text and PurePosixPath(name).stem not in text
    ]
