"""Which changes of a pack ask for a new version, so that old scores are never mixed with new ones.

Two scores may stand in one table if the same submission would get the same score, and the same program the same means.
So what counts is:

- the data: ``contents`` where it pins every prepared file; otherwise the finished files in ``data/``, or ``raw/``,
  ``utils/`` and ``downloads``, from which a script makes them;
- the score: ``metric``, ``submission``, ``split``, ``rewards``, ``leaderboard`` with its file, and, for a metric of the
  pack's own, the files of ``utils/`` but ``prepare.py``;
- the means: ``budget``, ``limits``, ``hardware.gpus``, ``modules`` and ``requirements`` with their file.

What does not count: titles and descriptions, licence and source, tier, references and what they scored, the broken
program, findings that were accepted, what waiting boxes import, what the preparation may use.
A pack whose version is ``0`` or begins with ``0.`` is a draft: it may change, and its scores are nobody's record.
"""

from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING

from openmle_env.task_registry import files
from openmle_env.task_registry.folder import DESCRIPTIONS, PREPARE_SCRIPT

if TYPE_CHECKING:
    from openmle_env.task_registry.folder import Pack
    from openmle_env.task_registry.index import IndexEntry

_BLOCKS = {"metric", "submission", "split", "rewards", "leaderboard", "budget", "limits", "modules", "requirements"}
"""Keys of pack.yaml that decide scores, whatever else the pack states."""


def score_hash(pack: Pack) -> str:
    """SHA-256 over what decides scores; the module's docstring says what that is.

    Raises:
        PackError: A file cannot be read.
    """
    config = pack.config
    # Without defaults, so that a key that a later format adds changes no hash.
    blocks = config.model_dump(mode="json", include=_BLOCKS, exclude_defaults=True)
    blocks["gpus"] = config.program_limits().gpus
    names = [name for name in (config.requirements, config.leaderboard and config.leaderboard.file) if name]
    description = {config.description, *DESCRIPTIONS}
    if config.contents:
        shown = {name.removeprefix("data/") for name in description if name}
        blocks["contents"] = {name: digest for name, digest in config.contents.items() if name not in shown}
    elif pack.is_finished:
        names += [name for name in pack.members if name.startswith("data/")]
    else:
        blocks |= config.model_dump(mode="json", include={"downloads"}, exclude_defaults=True)
        names += [name for name in pack.members if name.startswith(("raw/", "utils/"))]
    if config.metric.name == "pack":
        names += [name for name in pack.members if name.startswith("utils/") and name != PREPARE_SCRIPT]
    counted = sorted(set(names) - description)
    blocks["files"] = {name: files.sha256(pack.members[name]) for name in counted}
    return hashlib.sha256(json.dumps(blocks, sort_keys=True).encode()).hexdigest()


def is_draft(version: str) -> bool:
    """Whether a pack of this version was never released.

    >>> is_draft("0"), is_draft("0.3"), is_draft("1.0.0"), is_draft("01")
    (True, True, False, False)
    """
    return version == "0" or version.startswith("0.")


def version_bump(old: IndexEntry, pack: Pack) -> str | None:
    """Why the pack needs a new version; None where it does not.

    Args:
        old: The task as an index knows it.
        pack: The pack as it is now.

    Raises:
        PackError: A file of the pack cannot be read.
    """
    if old.version != pack.version or is_draft(pack.version) or old.hash == pack.hash:
        return None
    if score_hash(pack) == old.score_hash:
        return None
    return (
        f"{pack.slug}: data, split, metric or limits have changed, and the version is {pack.version!r} as before, so "
        "old scores would stand beside new ones. Raise 'version' in pack.yaml."
    )
