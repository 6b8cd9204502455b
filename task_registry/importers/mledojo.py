"""MLE-Dojo's competitions as task packs: their prepare.py and metric.py, from the user's checkout, in a sandbox."""

from __future__ import annotations

from pathlib import Path, PurePosixPath

from openmle_env.errors import PackError, UsageError
from openmle_env.task_registry.importers import peer_code
from openmle_env.task_registry.importers.boards import take_board
from openmle_env.task_registry.importers.drafts import Draft, checked_name, read_text, slug_of, source_of
from openmle_env.task_registry.importers.mlebench import METRIC, preparation

COMPETITIONS = PurePosixPath("mledojo", "competitions")


def names(checkout: Path) -> list[str]:
    """The competitions of a checkout, sorted.

    Raises:
        UsageError: It is no checkout of MLE-Dojo.
    """
    folder = checkout / COMPETITIONS
    if not folder.is_dir():
        raise UsageError(f"{checkout} is no checkout of MLE-Dojo: it has no folder {COMPETITIONS}.")
    return sorted(path.name for path in folder.iterdir() if (path / "info").is_dir() or (path / "utils").is_dir())


def draft(checkout: Path, name: str, raw: Path | None) -> Draft:
    """The pack of one competition.

    Args:
        checkout: Where MLE-Dojo is.
        name: The competition.
        raw: Folder with what Kaggle gives for it, unpacked; None if it is not there yet.

    Raises:
        PackError: The competition cannot be taken over; the message says why.
    """
    own = checkout / COMPETITIONS / checked_name(name)
    made = Draft(
        name=name,
        config={
            "slug": slug_of(name),
            "version": "1.0.0",
            "title": name,
            "description": "description.txt",
            "metric": {"name": "pack", "memory_mb": 4096},
            "data": {
                "licence": f"the rules of the Kaggle competition {name}",
                "source": source_of("MLE-Dojo", f"Kaggle competition {name}", checkout),
                "notes": "Prepared and split by the competition's own script.",
            },
            "budget": {"programs": 100, "seconds": 86400},
            "limits": {"wall_seconds": 3600, "memory_mb": 8192},
            "preparation": preparation(raw),
        },
    )
    description = own / "info" / "description.txt"
    if not description.is_file():
        raise PackError(f"{name} has no info/description.txt.")
    made.contents["description.txt"] = description
    prepare, metric = (script(own / "utils" / file) for file in ("prepare.py", "metric.py"))
    if not peer_code.has_function(prepare, "prepare"):
        raise PackError(f"{name}: utils/prepare.py has no function prepare() that does anything.")
    if not peer_code.has_metric(metric):
        raise PackError(f"{name}: utils/metric.py has no class with evaluate().")
    made.contents["utils/prepare.py"] = peer_code.plain("mledojo_prepare.py")
    made.contents["utils/own_copy.py"] = peer_code.plain("own_copy.py")
    made.contents["utils/peer_prepare.py"] = prepare
    made.contents[METRIC] = metric
    boards = [own / "info" / f"{side}_leaderboard.csv" for side in ("private", "public")]
    board = next((path for path in boards if path.is_file()), boards[0])
    take_board(made, board, higher_is_better=True)  # to be read at all, a board needs no direction
    if "leaderboard" in made.config and board.name.startswith("public"):
        made.notes.append("the board is the public one: its scores are of other rows than the final ones")
    if raw is not None:
        made.add_folder(raw, "raw")
    return made


def script(path: Path) -> str:
    """The text of a script.

    Raises:
        PackError: It is missing, empty or no UTF-8.
    """
    text = read_text(path)
    if not text.strip():
        raise PackError(f"{path} is empty.")
    return text
