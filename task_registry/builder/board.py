"""The public leaderboard of a competition, kept only where it says something, and without anybody's name."""

from __future__ import annotations

import csv
import io
import math
import zipfile
from typing import TYPE_CHECKING

from openmle_env.errors import PackError
from openmle_env.files import write_whole

if TYPE_CHECKING:
    from pathlib import Path

SCORE_COLUMNS = ("score", "privatescore", "publicscore", "privateleaderboardscore", "publicleaderboardscore")
"""What its column of scores is called in different years, in any case and without ``_``."""
RANK_COLUMNS = ("rank", "place", "position")
MAX_BYTES = 64 << 20
LEAST_TEAMS = 2


def read_archive(path: Path) -> bytes:
    """The CSV file in the archive that Kaggle gives, or the file itself where it is none.

    Raises:
        PackError: There is not exactly one, or it is too large.
    """
    try:
        with zipfile.ZipFile(path) as archive:
            names = [name for name in archive.namelist() if name.lower().endswith(".csv")]
            if len(names) != 1 or archive.getinfo(names[0]).file_size > MAX_BYTES:
                raise PackError(f"the leaderboard's archive holds {len(names)} tables, or one that is too large")
            return archive.read(names[0])
    except zipfile.BadZipFile:
        return path.read_bytes()[:MAX_BYTES]
    except (OSError, NotImplementedError, RuntimeError) as error:
        raise PackError(f"the leaderboard's archive cannot be read: {error}") from error


def scores(content: bytes) -> list[float]:
    r"""The teams' scores, from the first place to the last. Fields are found by name; blank scores are left out.

    Raises:
        PackError: The board says nothing: no scores, fewer than two teams, one score for all, or places and scores
            that contradict each other.

    >>> scores(b"Rank,TeamName,Score\n1,a,0.9\n2,b,0.7\n3,c,0.8\n")
    Traceback (most recent call last):
    ...
    openmle_env.errors.PackError: the leaderboard's places contradict its scores
    """
    try:
        text = content.decode("utf-8-sig")
        rows = list(csv.DictReader(io.StringIO(text, newline=""), strict=True))
    except (UnicodeDecodeError, csv.Error) as error:
        raise PackError(f"the leaderboard cannot be read: {error}") from error
    header = {key.casefold().replace("_", "").replace(" ", ""): key for key in (rows[0] if rows else {}) if key}
    column = next((header[name] for name in SCORE_COLUMNS if name in header), None)
    if column is None:
        raise PackError(f"the leaderboard has no column of scores; it has {', '.join(header.values()) or 'no rows'}")
    if place := next((header[name] for name in RANK_COLUMNS if name in header), None):
        rows.sort(key=lambda row: _number(row[place]))
    found = [score for row in rows if not math.isnan(score := _number(row[column]))]
    if len(found) < LEAST_TEAMS:
        raise PackError(f"the leaderboard has {len(found)} scores")
    if len(set(found)) == 1:
        raise PackError(f"all {len(found)} teams of the leaderboard have the same score, {found[0]:g}")
    if found not in (sorted(found), sorted(found, reverse=True)):
        raise PackError("the leaderboard's places contradict its scores")
    return found


def write(path: Path, found: list[float]) -> None:
    """Write the scores as the pack's leaderboard, whole."""
    write_whole(path, ("score\n" + "".join(f"{score!r}\n" for score in found)).encode())


def _number(cell: str | None) -> float:
    try:
        value = float((cell or "").strip())
    except ValueError:
        return math.nan
    return value if math.isfinite(value) else math.nan
