"""MLE-bench's competitions as task packs: their prepare.py and grade.py, from the user's checkout, in a sandbox.

What is known of a competition stands in ``mlebench_competitions.json``, such as the direction of its metric, which the
collection guesses from a leaderboard. Where a metric of ours is the right one it scores, and the peer's grader stands
beside it (see `openmle_env.task_registry.importers.comparing`).
"""

from __future__ import annotations

import json
from importlib.resources import files as resources
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any

import yaml

from openmle_env.errors import PackError, UsageError
from openmle_env.task_registry.importers import peer_code
from openmle_env.task_registry.importers.boards import take_board
from openmle_env.task_registry.importers.drafts import Draft, checked_name, commit_of, read_text, slug_of, source_of

if TYPE_CHECKING:
    from collections.abc import Sequence

PACKAGE = "mlebench"
COMPETITIONS = PurePosixPath(PACKAGE, "competitions")
TABLE = "mlebench_competitions.json"
METRIC = "utils/metric.py"


def names(checkout: Path) -> list[str]:
    """The competitions of a checkout, sorted.

    Raises:
        UsageError: It is no checkout of MLE-bench.
    """
    folder = checkout / COMPETITIONS
    if not folder.is_dir():
        raise UsageError(f"{checkout} is no checkout of MLE-bench: it has no folder {COMPETITIONS}.")
    return sorted(path.parent.name for path in folder.glob("*/config.yaml"))


def known() -> dict[str, dict[str, Any]]:
    """What is known of competitions, by their names."""
    table: dict[str, dict[str, Any]] = json.loads(resources(__package__).joinpath(TABLE).read_text(encoding="utf-8"))
    return table


def draft(checkout: Path, name: str, raw: Path | None, *, compat: bool) -> Draft:
    """The pack of one competition.

    Args:
        checkout: Where MLE-bench is.
        name: The competition.
        raw: Folder with what Kaggle gives for it, unpacked as MLE-bench leaves it; None if it is not there yet.
        compat: Score by the peer's grader, even where a metric of ours is the right one.

    Raises:
        PackError: The competition cannot be taken over; the message says why.
    """
    own = checkout / COMPETITIONS / checked_name(name)
    config = _config(own / "config.yaml", name)
    facts = known().get(name, {})
    if "higher_is_better" not in facts:
        raise PackError(
            f"{name} is none of the {len(known())} competitions whose metric's direction is known here. Write its pack "
            "by hand: a direction is never guessed from a leaderboard."
        )
    made = Draft(name=name, config=_pack_yaml(checkout, name, config, raw))
    description = own / "description.md"
    if not description.is_file():
        raise PackError(f"{name} has no description.md.")
    made.contents["description.md"] = description
    _scripts(made, checkout, name, config, facts)
    take_board(made, own / "leaderboard.csv", higher_is_better=facts["higher_is_better"])
    if raw is not None:
        made.add_folder(raw, "raw")
    ours = facts.get("ours")
    if ours is not None and not compat:
        made.config["metric"] = {
            "name": ours["metric"],
            **{key: ours[key] for key in ("parameters", "rows") if key in ours},
        }
        if "note" in ours:
            made.notes.append(f"our {ours['metric']} scores; the peer's grader differs: {ours['note']}")
    elif compat and "no_compat" in facts:
        raise PackError(f"{name} cannot be had with --compat: {facts['no_compat']}. Import it without.")
    else:
        made.config["metric"] = {"name": "pack", "higher_is_better": facts["higher_is_better"], "memory_mb": 4096}
    return made


def _config(path: Path, name: str) -> dict[str, Any]:
    text = read_text(path)
    try:
        config = yaml.safe_load(text)
    except (yaml.YAMLError, ValueError, RecursionError) as error:  # the last two: absurd numbers, dates, nesting
        raise PackError(f"{path} is no YAML that can be read: {error}") from error
    if not isinstance(config, dict) or config.get("id") != name:
        raise PackError(f"{path} should be the configuration of {name!r}; its 'id' says otherwise.")
    return config


def _get(config: dict[str, Any], *keys: str) -> str:
    value: Any = config
    for key in keys:
        value = value.get(key) if isinstance(value, dict) else None
    if not isinstance(value, str) or not value:
        raise PackError(f"config.yaml of {config['id']} lacks {'.'.join(keys)}, or it is no text.")
    return value


def _inside(config: dict[str, Any], key: str, side: str) -> str:
    """A file of the prepared data, below its side.

    Raises:
        PackError: It lies elsewhere, or on the other side.
    """
    text = _get(config, "dataset", key)
    path = PurePosixPath(text)
    root = PurePosixPath(config["id"], "prepared")
    if path.is_absolute() or ".." in path.parts or not path.is_relative_to(root):
        raise PackError(f"config.yaml of {config['id']}: dataset.{key} is {text!r}, which is not below {root}/.")
    return _below(path, root / side)


def _below(path: PurePosixPath, folder: PurePosixPath) -> str:
    if not path.is_relative_to(folder) or path == folder:
        raise PackError(f"{path} is not below {folder}/, where it should be.")
    return str(path.relative_to(folder))


def _function(config: dict[str, Any], *keys: str) -> tuple[str, str]:
    """A module of the competition itself, and a function there."""
    text = _get(config, *keys)
    module, colon, function = text.partition(":")
    if not colon or not function.isidentifier() or not module.startswith(f"{PACKAGE}.competitions.{config['id']}."):
        raise PackError(
            f"config.yaml of {config['id']}: {'.'.join(keys)} is {text!r}; it names no function of its own."
        )
    return module, function


def _sample(made: Draft, config: dict[str, Any]) -> str:
    """The sample submission below ``public/``.

    Some configurations name one below ``private/``. Nothing is ever copied from there to the public side: the public
    file of the same name is taken, if there is one when the data is prepared.
    """
    path = PurePosixPath(_get(config, "dataset", "sample_submission"))
    if path.is_relative_to(PurePosixPath(config["id"], "prepared", "private")) and ".." not in path.parts:
        made.notes.append("its sample submission is said to lie below private/: the public one of that name is taken")
        return path.name
    return _inside(config, "sample_submission", "public")


def _scripts(made: Draft, checkout: Path, name: str, config: dict[str, Any], facts: dict[str, Any]) -> None:
    answers = _inside(config, "answers", "private")
    if not answers.endswith(".csv"):
        raise PackError(f"the answers of {name} are {answers}; answers here are CSV files.")
    grader, preparer = _function(config, "grader", "grade_fn"), _function(config, "preparer")
    own = f"{PACKAGE}.competitions.{name}"
    for script, function in (grader, preparer):
        path = checkout.joinpath(*script.split(".")).with_suffix(".py")
        if script.count(".") != own.count(".") + 1 or not path.is_file():
            raise PackError(f"{name}: there is no {path}.")
        if not peer_code.has_function(read_text(path), function):
            raise PackError(f"{name}: {path} has no function {function}() that does anything.")
    code = peer_code.collect(checkout, PACKAGE, own)
    commit = commit_of(checkout)
    about = f"From MLE-bench (MIT licence, Copyright OpenAI){', commit ' + commit if commit else ''}: {own}"
    made.contents["utils/prepare.py"] = peer_code.bundle(
        code,
        "mlebench_prepare.py",
        {
            "PREPARER": preparer,
            "ANSWERS": answers,
            "SAMPLE": _sample(made, config),
            "COLUMNS": list(facts.get("columns", [])),
        },
        about=about,
    )
    made.contents["utils/own_copy.py"] = peer_code.plain("own_copy.py")
    made.contents[METRIC] = peer_code.bundle(
        code, "mlebench_metric.py", {"GRADER": grader, "HIGHER_IS_BETTER": facts["higher_is_better"]}, about=about
    )
    licence = checkout / "LICENSE"
    if licence.is_file():
        made.contents["utils/LICENSE.mlebench"] = licence
    require(made, code.needs)


def require(made: Draft, needs: Sequence[str]) -> None:
    """Give a draft the packages that its scripts import, as far as their names are known."""
    packages = sorted({peer_code.DISTRIBUTIONS[one] for one in needs if one in peer_code.DISTRIBUTIONS})
    if strange := [one for one in needs if one not in peer_code.DISTRIBUTIONS]:
        made.notes.append(f"its scripts import {', '.join(strange)}: add the packages to utils/requirements.txt")
    if packages:
        made.contents["utils/requirements.txt"] = "".join(f"{one}\n" for one in packages)
        made.config["requirements"] = "utils/requirements.txt"
        made.notes.append(f"needs {', '.join(packages)}: openmle sandbox build --requirements FILE")


def _pack_yaml(checkout: Path, name: str, config: dict[str, Any], raw: Path | None) -> dict[str, object]:
    title = config.get("name")
    made: dict[str, object] = {
        "slug": slug_of(name),
        "version": "1.0.0",
        "title": title if isinstance(title, str) and title else name,
        "description": "description.md",
        "data": {
            "licence": f"the rules of the Kaggle competition {name}",
            "source": source_of("MLE-bench", f"Kaggle competition {name}", checkout),
            "notes": "Prepared and split by the competition's own script.",
        },
        "budget": {"programs": 100, "seconds": 86400},
        "limits": {"wall_seconds": 3600, "memory_mb": 8192},
        "preparation": preparation(raw),
    }
    return made


def preparation(raw: Path | None) -> dict[str, int]:
    """What a script may use that takes a folder of this size apart: four times its size, and 2 GiB at least."""
    size = sum(path.stat().st_size for path in raw.rglob("*") if path.is_file()) if raw is not None else 0
    disk = max(2048, 4 * size // 2**20)
    return {"seconds": 3600, "memory_mb": max(4096, disk), "disk_mb": disk}
