"""The table of many packs: as CSV that spreadsheets open, and as JSON; and tables of the same packs put together."""

from __future__ import annotations

import csv
import io
from dataclasses import asdict, fields
from typing import TYPE_CHECKING

from openmle_env.errors import UsageError
from openmle_env.task_registry.metadata.rules import Metadata

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

COLUMNS = tuple(field.name for field in fields(Metadata))


def as_csv(rows: Sequence[Metadata]) -> bytes:
    """The table, sorted by name: UTF-8 with a byte-order mark, by which spreadsheets know it."""
    text = io.StringIO(newline="")
    writer = csv.writer(text, lineterminator="\r\n")
    writer.writerow(COLUMNS)
    for row in sorted(rows, key=lambda one: one.name):
        values = {**asdict(row), "notes": "; ".join(row.notes)}
        writer.writerow([_cell(values[name]) for name in COLUMNS])
    return text.getvalue().encode("utf-8-sig")


def _cell(value: object) -> str:
    """A text that no spreadsheet takes for a formula."""
    text = "" if value is None else str(value)
    return f"'{text}" if text.startswith(("=", "+", "-", "@", "\t", "\r", "\n")) else text


def merge(*tables: Mapping[str, Mapping[str, object]] | Sequence[Mapping[str, object]]) -> dict[str, dict[str, object]]:
    """One row for each task, from tables that each say something else of the same tasks.

    Args:
        tables: Rows with a ``name``, or rows by names.

    Raises:
        UsageError: A table has a task twice, or the tables are not of the same tasks.

    >>> merge([{"name": "a", "modality": "text"}], [{"name": "a", "compute": "CPU"}])
    {'a': {'name': 'a', 'modality': 'text', 'compute': 'CPU'}}
    """
    merged: dict[str, dict[str, object]] = {}
    for number, table in enumerate(tables):
        rows = _by_name(table)
        if number and rows.keys() != merged.keys():
            strange = sorted(rows.keys() ^ merged.keys())
            raise UsageError(f"The tables are not of the same tasks: {', '.join(strange[:5])} is not in both.")
        for name, row in rows.items():
            merged.setdefault(name, {}).update(row)
    return merged


def _by_name(
    table: Mapping[str, Mapping[str, object]] | Sequence[Mapping[str, object]],
) -> dict[str, Mapping[str, object]]:
    if not isinstance(table, list | tuple):
        return {name: {"name": name, **row} for name, row in table.items()}  # type: ignore[union-attr]  # a mapping
    rows: dict[str, Mapping[str, object]] = {}
    for row in table:
        name = str(row["name"])
        if name in rows:
            raise UsageError(f"The task {name!r} stands twice in one table.")
        rows[name] = row
    return rows
