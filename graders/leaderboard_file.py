"""Reading a competition's leaderboard from a CSV file."""

from __future__ import annotations

import math
import os
from pathlib import Path

from openmle_env.errors import PackError, UsageError
from openmle_env.graders.echo import show, show_some
from openmle_env.graders.loading.source import Refused, read_bytes
from openmle_env.graders.loading.table import read_table
from openmle_env.graders.medals import Leaderboard, stated_direction

SCORE_COLUMN = "score"
"""The column that is read where none is named, in any case of its letters."""

_LFS = b"version https://git-lfs.github.com/spec/"


def is_lfs_pointer(content: bytes) -> bool:
    r"""Whether ``content`` is the short text that git leaves in a checkout in place of a file that Git LFS holds.

    >>> is_lfs_pointer(b"version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 5\n")
    True
    """
    return content.removeprefix(b"\xef\xbb\xbf").lstrip().startswith(_LFS)


def read_leaderboard(
    path: str | os.PathLike[str], higher_is_better: bool, *, column: str | None = None, cap: float | None = None
) -> Leaderboard:
    """Read the board from the score column of a CSV file; row order and all other columns mean nothing.

    Teams whose score is blank are left out, and counted in the board's ``notes``.

    Args:
        path: The file, read by the rules for submissions (`openmle_env.graders.loading.table`).
        higher_is_better: Direction of the metric, from the task.
        column: Name of the score column; by default ``score``, in any case.
        cap: As for `Leaderboard`.

    Raises:
        PackError: The file is missing, an LFS pointer, or no table; it has no such column; a score is no finite
            number; or the board cannot be used (see `Leaderboard`).
        UsageError: The path is not a path, the column no name, or as for `Leaderboard`.
    """
    if not isinstance(path, str | os.PathLike):
        raise UsageError(f"A leaderboard is read from a path, not {path!r}. For scores, use Leaderboard(scores, ...).")
    if column is not None and not isinstance(column, str):
        raise UsageError(f"The score column is named by a text, not {column!r}.")
    higher = stated_direction(higher_is_better)  # before the file is read
    return _read(Path(path), higher, column, cap)


def _read(path: Path, higher_is_better: bool, column: str | None, cap: float | None) -> Leaderboard:
    if not path.exists():
        raise PackError(f"There is no leaderboard at {path}.")
    if path.is_symlink() or not path.is_file():
        raise PackError(f"The leaderboard {path} is not a regular file. Put the CSV file itself there.")
    try:
        content = read_bytes(path)
        if is_lfs_pointer(content):
            raise PackError(
                f"The leaderboard {path} is a Git LFS pointer, not the table itself. "
                "Fetch it with `git lfs pull` in its checkout."
            )
        table = read_table(content)
    except Refused as refused:
        raise PackError(f"The leaderboard {path} cannot be read. {refused.problem.message}") from None
    name = _score_column(list(table.columns), column, path)
    cells = [cell.strip() for cell in table.columns[name]]
    scores = [_number(cell, row, name, path) for row, cell in enumerate(cells, 1) if cell]
    blank = len(cells) - len(scores)
    notes = (f"{blank:,} of {len(cells):,} teams have no score and are left out.",) if blank else ()
    try:
        return Leaderboard(scores, higher_is_better, cap, notes)
    except PackError as error:
        raise PackError(f"The leaderboard {path} cannot be used. {error}") from None


def _score_column(names: list[str], wanted: str | None, path: Path) -> str:
    found = [wanted] if wanted in names else []
    if wanted is None:
        found = [name for name in names if name.lower() == SCORE_COLUMN]
    if len(found) == 1 and found[0] is not None:
        return found[0]
    if found:
        raise PackError(
            f"The leaderboard {path} has {len(found)} score columns: {show_some(found, len(found))}. Name one."
        )
    raise PackError(
        f"The leaderboard {path} has no column {show(wanted or SCORE_COLUMN)}. "
        f"Its columns: {show_some(names, len(names))}. Name the one that holds the scores."
    )


def _number(cell: str, row: int, column: str, path: Path) -> float:
    try:
        number = float(cell) if "_" not in cell else math.nan  # Python reads 1_0 as 10; no other reader does
    except ValueError:
        number = math.nan
    if not math.isfinite(number):
        raise PackError(
            f"The leaderboard {path} has {show(cell)} in column {show(column)}, row {row:,} below the header: "
            "not a finite number. Leave the cell of a team without a score empty."
        )
    return number
