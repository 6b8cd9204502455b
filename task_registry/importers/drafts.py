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
from openmle_env.task_registry.pack_yaml import PACK_FILE

if TYPE_CHECKING:
    from collections.abc import Mapping

NAME = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?")
"""Names of tasks in the collections: what else is a name of a folder is none of a task."""
MAX_TEXT = 4 << 20
"""Bytes of a script, a table or a configuration of a checkout that are read."""


class Status(StrEnum):
    """What came of one task."""

    IMPORTED = "imported"
    THERE = "there already"
    NEEDS_DATA = "needs data"
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


def read_text(path: Path) -> str:
    """A text of a checkout: a plain file, of which a link, a pipe or something endless is none.

    Raises:
        PackError: It is missing, something else, too large, or no UTF-8.
    """
    with files.opened(path) as file:
        content = file.read(MAX_TEXT + 1)
    if len(content) > MAX_TEXT:
        raise PackError(f"{path} is larger than {MAX_TEXT >> 20} MiB, and should be a text that people write.")
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise PackError(f"{path} is not UTF-8 (byte {error.start}).") from error


def may_be_replaced(target: Path) -> bool:
    """Whether what is at a place is a pack; a name from elsewhere never gets a folder of another kind removed."""
    return not target.is_symlink() and any((target / name).exists() for name in (PACK_FILE, "utils/metric.py"))


def write(draft: Draft, folder: Path, *, force: bool) -> Outcome:
    """Write a pack into ``folder``/<slug>: whole, or not at all.

    Raw files that somebody put into a pack that waited for them stay there, whatever is written again.

    Raises:
        PackError: Another pack is there (unless ``force``), something else is there, a file cannot be read, or what was
            written is no usable pack.
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
            if has_data:
                open_pack(new)
            waits = not has_data and not _has_raw(target)
            status = Status.NEEDS_DATA if waits else Status.IMPORTED
            if target.exists() or target.is_symlink():
                if _same(new, target, but="" if has_data else "raw/"):
                    status = status if waits else Status.THERE
                else:
                    _refuse(target, force=force)
                    _take_place(new, target, keep="" if has_data else "raw")
            else:
                new.rename(target)
        finally:
            files.remove(new)
    reason = f"put its raw files into {target / 'raw'}, then: openmle prepare {target}" if waits else ""
    notes = tuple(draft.notes)
    return Outcome(name=draft.name, slug=draft.slug, status=status, folder=str(target), reason=reason, notes=notes)


def _has_raw(target: Path) -> bool:
    raw = target / "raw"
    return raw.is_dir() and not raw.is_symlink() and any(raw.iterdir())


def _refuse(target: Path, *, force: bool) -> None:
    if not may_be_replaced(target):
        raise PackError(f"{target} is there and is no task pack, so it stays. Move it, or use another folder.")
    if not force:
        raise PackError(f"{target} is there and differs. Remove it, or say --force to write it again.")


def _take_place(new: Path, target: Path, *, keep: str) -> None:
    """Put a pack where another one is, whose folder ``keep``, if any, is not touched."""
    if not keep:
        files.remove(target)
        new.rename(target)
        return
    names = {path.name for path in new.iterdir()}
    for path in target.iterdir():
        if path.name not in names and path.name != keep:
            files.remove(path)
    for path in new.iterdir():
        final = target / path.name
        if path.is_dir():
            files.take_over(path, final)
        else:
            if final.is_dir():
                files.remove(final)
            path.replace(final)


def _fill(root: Path, draft: Draft) -> bool:
    """Write all files of a draft; whether the data, raw or finished, are among them."""
    root.mkdir()
    for name, content in draft.contents.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if isinstance(content, str):
            path.write_text(content, encoding="utf-8", newline="\n")
        else:
            with files.opened(content):
                pass  # it can be read: what fails now is writing, and concerns the others, too
            shutil.copyfile(content, path, follow_symlinks=False)
    (root / PACK_FILE).write_text(dump(draft.config), encoding="utf-8", newline="\n")
    return any(name.startswith(("raw/", "data/private/")) for name in draft.contents)


def _same(one: Path, other: Path, *, but: str) -> bool:
    """Whether two packs hold the same files; permissions, hidden files and what begins with ``but`` mean nothing."""
    try:
        names, others = (
            {name: path for name, path in files.tree(root).items() if not but or not name.startswith(but)}
            for root in (one, other)
        )
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
