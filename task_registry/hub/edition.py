"""What of a pack is shared, and the list of files by which whoever gets it can tell that it is whole.

A *whole* edition is the pack itself, answers included. A *public* edition holds what agents may see: the description,
the public files and ``pack.yaml``, but neither answers, nor raw data and scripts that make them, nor programs.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Literal

from openmle_env.errors import PackError
from openmle_env.task_registry import files
from openmle_env.task_registry.pack import Block
from openmle_env.task_registry.pack_values import InsidePath, Sha256, Slug
from openmle_env.task_registry.pack_yaml import PACK_FILE

if TYPE_CHECKING:
    from openmle_env.task_registry.folder import Pack

MANIFEST = "openmle.json"
"""The list of files, beside them."""
FORMAT = 1
Kind = Literal["whole", "public"]


class SharedFile(Block):
    """One file."""

    size: int
    """Bytes."""
    sha256: Sha256
    """Of its content."""


class SharedPack(Block):
    """What is in `MANIFEST`."""

    format: int
    """`FORMAT` of the version that wrote it."""
    slug: Slug
    """The task."""
    version: str
    """Of the pack."""
    hash: Sha256
    """Of the whole pack."""
    edition: Kind
    """What is there."""
    files: dict[InsidePath, SharedFile]
    """Every file but this list and the card."""


@dataclass(frozen=True, slots=True)
class Edition:
    """A pack that is about to be shared."""

    shared: SharedPack
    """The list."""
    sources: dict[str, Path]
    """The files on this machine, by their names in the edition."""

    def rows(self) -> int | None:
        """Rows of its public tables, headers left out; None where there are none."""
        tables = [
            path
            for name, path in self.sources.items()
            if name.startswith("data/public/") and name.endswith(".csv") and "sample_submission" not in name
        ]
        return sum(files.lines(path) - 1 for path in tables) if tables else None


def whole(pack: Pack) -> Edition:
    """All of a pack."""
    return _edition(pack, "whole", dict(pack.members))


def public(pack: Pack, prepared: Path | None) -> Edition:
    """What of a pack agents may see.

    Args:
        pack: The pack.
        prepared: Folder of its prepared public files; None if it is not prepared.

    Raises:
        PackError: Its public files are not there.
    """
    folder = prepared or pack.root / "data/public"
    if not folder.is_dir():
        raise PackError(
            f"{pack.slug} is not prepared, so its public files are not there: openmle prepare {pack.address}"
        )
    sources = {f"data/public/{name}": path for name, path in files.tree(folder).items()}
    description = pack.config.description
    for name in (PACK_FILE, description):
        if name is not None and name in pack.members:
            sources[name] = pack.members[name]
    return _edition(pack, "public", sources)


def _edition(pack: Pack, kind: Kind, sources: dict[str, Path]) -> Edition:
    listed = {
        name: SharedFile(size=path.stat().st_size, sha256=files.sha256(path)) for name, path in sorted(sources.items())
    }
    shared = SharedPack(format=FORMAT, slug=pack.slug, version=pack.version, hash=pack.hash, edition=kind, files=listed)
    return Edition(shared, sources)


def read(content: bytes, where: str) -> SharedPack:
    """The list of files of an edition.

    Raises:
        PackError: It is none, or of a later version of this package.
    """
    try:
        document = json.loads(content)
        version = document.get("format") if isinstance(document, dict) else None
        later = isinstance(version, int) and version > FORMAT
        shared = None if later else SharedPack.model_validate(document)
    except ValueError as error:
        raise PackError(f"{where} holds no task pack: its {MANIFEST} is not a list of files.") from error
    if shared is None:
        raise PackError(f"{where} was pushed by a later version of openmle_env. Update it: pip install -U openmle-env")
    for name in shared.files:
        if any(part.startswith(".") for part in PurePosixPath(name).parts):
            raise PackError(f"{where} lists the hidden file {name!r}, which belongs to no pack.")
    return shared


def check(shared: SharedPack, folder: Path) -> None:
    """Check that a folder holds exactly the files of the list.

    Raises:
        PackError: One is missing, another one, or strange.
    """
    found = files.tree(folder, everything=True)
    for name, listed in shared.files.items():
        path = found.pop(name, None)
        if path is None:
            raise PackError(f"{shared.slug}: {name} is listed in {MANIFEST} and was not there.")
        if (digest := files.sha256(path)) != listed.sha256:
            raise PackError(
                f"{shared.slug}: {name} is not the file that was pushed: its SHA-256 is {digest}, and {MANIFEST} says "
                f"{listed.sha256}. Nothing was kept."
            )
    if found:
        raise PackError(f"{shared.slug}: {', '.join(sorted(found)[:5])} is not listed in {MANIFEST}.")
