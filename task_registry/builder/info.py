"""What is known of a source beside its files: what Kaggle says, and a table such as Meta Kaggle gives."""

from __future__ import annotations

import csv
import io
import json
from typing import TYPE_CHECKING

from openmle_env.errors import UsageError
from openmle_env.files import write_whole
from openmle_env.task_registry import files

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from openmle_env.task_registry.builder.sources import Source

NAME_COLUMNS = ("slug", "ref", "name", "competition", "dataset", "competitionslug", "datasetslug", "url")
"""The columns by which a row of the table is found, in this order, in any case and without ``_``."""
MAX_CELL = 8_000


def read_table(path: Path) -> dict[str, dict[str, str]]:
    """The rows of a table of sources by their names in lower case.

    Raises:
        UsageError: It cannot be read, or no column names the source.
    """
    try:
        text = path.read_bytes().decode("utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"The table {path} cannot be read: {error}. Give a CSV file in UTF-8.") from error
    try:
        with files.long_cells():
            reader = csv.DictReader(io.StringIO(text, newline=""), strict=True)
            header = list(reader.fieldnames or ())
            rows = [{key: value for key, value in row.items() if key and isinstance(value, str)} for row in reader]
    except csv.Error as error:
        raise UsageError(f"The table {path} is no CSV: {error}.") from None
    folded = {name.casefold().replace("_", "").replace(" ", ""): name for name in reversed(header)}
    key = next((folded[name] for name in NAME_COLUMNS if name in folded), None)
    if key is None:
        raise UsageError(
            f"The table {path} has no column that names the source. Call one 'slug'; it has {', '.join(header[:20])}."
        )
    return {_last(row.get(key, "")): row for row in rows if row.get(key)}


def of(source: Source, table: Mapping[str, Mapping[str, str]], told: Mapping[str, object]) -> dict[str, object]:
    """All that is known of a source: its address, what Kaggle told, and its row of the table, empty cells left out."""
    row = table.get(_last(source.name)) or table.get(source.slug) or {}
    facts: dict[str, object] = {"source": "a local folder" if source.kind == "folder" else source.address}
    facts |= {key: value for key, value in told.items() if value not in {None, ""}}
    facts |= {f"table.{key}": value[:MAX_CELL] for key, value in row.items() if value.strip()}
    return facts


def write(path: Path, facts: Mapping[str, object]) -> None:
    """Write what is known, whole."""
    write_whole(path, (json.dumps(facts, indent=1, ensure_ascii=False, sort_keys=True) + "\n").encode())


def read(path: Path) -> dict[str, object]:
    """What was written; nothing where nothing was."""
    try:
        values = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return values if isinstance(values, dict) else {}


def _last(name: str) -> str:
    """A name or an address as the last part that tells it apart."""
    return name.strip().rstrip("/").rpartition("/")[2].casefold()
