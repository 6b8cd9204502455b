"""A pack that is about to be written: its files, and how they come to their place whole or not at all."""

from __future__ import annotations

import re
import shutil
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING

import yaml

from openmle_env.errors import PackError
from openmle_env.task_registry import files
from openmle_env.task_registry.folder import default_slug, open_pack

if TYPE_CHECKING:
    from collections.abc import Mapping

NAME = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?")
"""Names of tasks in the collections: what else is a name of a folder is none of a task."""


class Status(StrEnum):
    """What came of one task."""

    IMPORTED = "imported"
    THERE = "there already"
    NEEDS_DATA = "needs data"
    UNOBTAINABLE = "unobtainable"
    FAILED = "failed"


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What came of one task."""

    name: str
    """Its name in the collection."""
    slug: str
    """Its name here."""
    status: Status
    """What came of it."""
    folder: str = ""
    """Where the pack is."""
    reason: str = ""
    """Why it is not there, or what to do for it to be prepared."""
    notes: tuple[str, ...] = ()
    """What to know of it."""


@dataclass(slots=True, kw_only=True)
class Draft:
    """A pack before it is written."""

    name: str
    """Its name in the collection."""
    config: dict[str, object]
    """What its ``pack.yaml`` says."""
    contents: dict[str, str | Path] = field(default_factory=dict)
    """Texts, and files to be copied, by their names in the pack."""
    notes: list[str] = field(default_factory=list)
    """What to know of it."""
    unobtainable: str = ""
    """Why its data cannot be had by anybody, where that is known."""

    @property
    def slug(self) -> str:
        """Its name here."""
        return slug_of(self.name)

    def add_folder(self, source: Path, inside: str) -> None:
        """Take over a folder with all below it.

        Raises:
            PackError: It holds something else than plain files and folders.
        """
        self.contents |= {f"{inside}/{name}": path for name, path in files.tree(source).items()}


def slug_of(name: str) -> str:
    """The name of a task here, made from its name in a collection.

    >>> slug_of("AI4Code"), slug_of("DontGetKicked")
    ('ai4code', 'dontgetkicked')
    """
    return default_slug(Path(name))


def checked_name(name: str) -> str:
    """The name, if it can be one.

    Raises:
        PackError: It cannot.
    """
    if not NAME.fullmatch(name) or ".." in name:
        raise PackError(f"{name!r} is no name of a task: letters, digits, '-', '_' and '.', a letter or digit first.")
    return name


def write(draft: Draft, folder: Path, *, force: bool) -> Outcome:
    """Write a pack into ``folder``/<slug>: whole, or not at all.

    Raises:
        PackError: Another pack is there (unless ``force``), or what was written is no usable pack.
        DiskFullError: There is no space for it.
    """
    target = folder / draft.slug
    new = folder / f".{draft.slug}.new"
    with files.storage_errors(folder):
        folder.mkdir(parents=True, exist_ok=True)
        files.remove(new)  # what a killed process may have left
        try:
            sizes = [one.stat().st_size for one in draft.contents.values() if isinstance(one, Path)]
            files.need_space(folder, sum(sizes) + files.CHUNK)
            has_data = _fill(new, draft)
            notes = tuple(draft.notes)
            if not has_data:
                status = Status.UNOBTAINABLE if draft.unobtainable else Status.NEEDS_DATA
                reason = (
                    draft.unobtainable or f"put its raw files into {target / 'raw'}, then: openmle prepare {target}"
                )
            else:
                open_pack(new)
                status, reason = Status.IMPORTED, ""
            if target.exists() or target.is_symlink():
                if _same(new, target):
                    status = Status.THERE if has_data else status
                elif not force:
                    raise PackError(f"{target} is there and differs. Remove it, or say --force to write it again.")
                files.remove(target)
            new.replace(target)
        finally:
            files.remove(new)
    return Outcome(name=draft.name, slug=draft.slug, status=status, folder=str(target), reason=reason, notes=notes)


def _fill(root: Path, draft: Draft) -> bool:
    """Write all files of a draft; whether the data, raw or finished, are among them."""
    root.mkdir()
    for name, content in draft.contents.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if isinstance(content, str):
            path.write_text(content, encoding="utf-8", newline="\n")
        else:
            shutil.copyfile(content, path, follow_symlinks=False)
    (root / "pack.yaml").write_text(dump(draft.config), encoding="utf-8", newline="\n")
    return any(name.startswith(("raw/", "data/private/")) for name in draft.contents)


def _same(one: Path, other: Path) -> bool:
    """Whether two packs hold the same files; permissions and what is no part of a pack mean nothing."""
    try:
        names, others = files.tree(one), files.tree(other)
        return names.keys() == others.keys() and all(
            files.sha256(names[name]) == files.sha256(others[name]) for name in names
        )
    except PackError:
        return False


def dump(config: Mapping[str, object]) -> str:
    """The text of a ``pack.yaml``."""
    return yaml.safe_dump(dict(config), sort_keys=False, allow_unicode=True, width=100)


def commit_of(checkout: Path) -> str:
    """The commit of a git checkout, read from its files; empty where that is not known."""
    for root in (checkout, *checkout.parents):
        head = root / ".git" / "HEAD"
        if head.is_file():
            text = head.read_text(encoding="utf-8", errors="replace").strip()
            if not text.startswith("ref: "):
                return text if re.fullmatch(r"[0-9a-f]{40,64}", text) else ""
            return _resolved(root / ".git", text.removeprefix("ref: "))
    return ""


def _resolved(git: Path, name: str) -> str:
    if ".." in name:
        return ""
    loose = git / name
    if loose.is_file():
        return loose.read_text(encoding="utf-8", errors="replace").strip()
    packed = git / "packed-refs"
    if packed.is_file():
        for line in packed.read_text(encoding="utf-8", errors="replace").splitlines():
            commit, _, found = line.partition(" ")
            if found == name:
                return commit
    return ""


def source_of(collection: str, name: str, checkout: Path) -> str:
    """What ``data.source`` of a pack says."""
    commit = commit_of(checkout)
    return f"{name}, from a checkout of {collection}" + (f", commit {commit}" if commit else "")
