"""Leaderboards of other collections: taken where they can place a score, named where they cannot."""

from __future__ import annotations

from typing import TYPE_CHECKING

from openmle_env.errors import PackError
from openmle_env.graders.leaderboard_file import is_lfs_pointer, read_leaderboard

if TYPE_CHECKING:
    from pathlib import Path

    from openmle_env.task_registry.importers.drafts import Draft


def take_board(draft: Draft, path: Path, *, higher_is_better: bool) -> None:
    """Give a draft the leaderboard at ``path``, or a note that says why it has none and so no medals."""
    if not path.is_file():
        draft.notes.append("no leaderboard in the checkout: no medals")
        return
    with path.open("rb") as file:
        if is_lfs_pointer(file.read(512)):
            draft.notes.append(f"{path.name} is a Git LFS pointer: no medals until you run git lfs pull")
            return
    try:
        board = read_leaderboard(path, higher_is_better)
    except PackError as error:
        draft.notes.append(f"no medals: {error}")
        return
    ranked = board.best_first
    if ranked[0] == ranked[-1]:
        draft.notes.append("the leaderboard has one score for all teams: no medals")
        return
    draft.contents["leaderboard.csv"] = path
    draft.config["leaderboard"] = {"file": "leaderboard.csv"}
