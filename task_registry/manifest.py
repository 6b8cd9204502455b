"""What was prepared: the file beside the answers that says a task is whole, and of which bytes."""

from __future__ import annotations

import csv
import io
from typing import TYPE_CHECKING

from pydantic import ValidationError

from openmle_env.errors import PackError
from openmle_env.task_registry import files
from openmle_env.task_registry.folder import ANSWERS
from openmle_env.task_registry.pack import Block, Rewards, Submission
from openmle_env.types import PublicFile

if TYPE_CHECKING:
    from pathlib import Path

FORMAT = 1
"""Raised when what is prepared changes, so that older caches are made again."""
MANIFEST = "manifest.json"
PREVIEW_LINES = 4
PREVIEW_CHARACTERS = 240
TEXT_SUFFIXES = (".csv", ".tsv", ".txt", ".md", ".json", ".jsonl")


class PreparedFile(Block):
    """One prepared file."""

    name: str
    """``public/...`` or ``private/...``."""
    size: int
    """Bytes."""
    sha256: str
    """Of its content."""
    rows: int | None = None
    """Records of a public CSV file, without the header."""
    columns: tuple[str, ...] = ()
    """Header of a public CSV file."""
    preview: str = ""
    """First lines of a public text file."""


class Manifest(Block):
    """All that is known of a prepared task."""

    format: int
    """`FORMAT` of the version that wrote it."""
    pack: str
    """Hash of the pack it was made from."""
    files: tuple[PreparedFile, ...]
    """Every file, public and private."""
    submission: Submission
    """Columns of a submission, stated by the pack or inferred."""
    higher_is_better: bool
    """Direction of the metric."""
    rewards: Rewards
    """Bounds of rewards, stated by the pack or measured."""

    def public_files(self) -> tuple[PublicFile, ...]:
        """The files that a program sees."""
        return tuple(
            PublicFile(
                name=file.name.removeprefix("public/"),
                size=file.size,
                rows=file.rows,
                columns=file.columns,
                preview=file.preview,
            )
            for file in self.files
            if file.name.startswith("public/")
        )


def read(pack_hash: str, public: Path, private: Path) -> Manifest | None:
    """The manifest, if the two folders hold exactly the files that it lists, of the sizes that it lists, else None."""
    path = private / MANIFEST
    try:
        manifest = Manifest.model_validate_json(path.read_bytes())
        found = {f"public/{name}": file for name, file in files.tree(public, everything=True).items()}
        found |= {f"private/{name}": file for name, file in files.tree(private, everything=True).items()}
        del found[f"private/{MANIFEST}"]
    except (FileNotFoundError, NotADirectoryError, IsADirectoryError, ValidationError, PackError):
        return None  # never made, removed, truncated, or a link where a file should be
    listed = {file.name: file for file in manifest.files}
    if manifest.format != FORMAT or manifest.pack != pack_hash or found.keys() != listed.keys():
        return None
    fits = all(path.stat().st_size == listed[name].size for name, path in found.items())
    return manifest if fits and ANSWERS in listed else None


def read_whole(pack_hash: str, public: Path, private: Path) -> Manifest | None:
    """As `read`, and every byte is what the manifest says."""
    manifest = read(pack_hash, public, private)
    if manifest is None:
        return None
    try:
        whole = all(files.sha256(_path(file.name, public, private)) == file.sha256 for file in manifest.files)
    except PackError:
        return None  # removed since
    return manifest if whole else None


def _path(name: str, public: Path, private: Path) -> Path:
    side, _, rest = name.partition("/")
    return (public if side == "public" else private) / rest


def describe(name: str, path: Path) -> PreparedFile:
    """Measure a prepared file; only of public ones anything but size and hash is kept."""
    size, digest = path.stat().st_size, files.sha256(path)
    if not name.startswith("public/") or path.suffix.lower() not in TEXT_SUFFIXES:
        return PreparedFile(name=name, size=size, sha256=digest)
    is_table = path.suffix.lower() == ".csv"
    return PreparedFile(
        name=name,
        size=size,
        sha256=digest,
        rows=_count_rows(path) if is_table else None,
        columns=_header(path) if is_table else (),
        preview=_preview(path),
    )


def _count_rows(path: Path) -> int:
    """Records without the header, in one pass of constant memory: line ends outside of quotes."""
    lines, quoted, last = 0, False, b"\n"
    with path.open("rb") as file:
        while chunk := file.read(files.CHUNK):
            for position, piece in enumerate(chunk.split(b'"')):
                quoted ^= position > 0
                if not quoted:
                    lines += piece.count(b"\n")
            last = chunk[-1:]
    return max(lines + (last != b"\n") - 1, 0)


def _header(path: Path) -> tuple[str, ...]:
    with path.open("rb") as file:
        text = file.read(files.CHUNK).decode("utf-8-sig", "replace")
    try:
        return tuple(cell.strip() for cell in next(csv.reader(io.StringIO(text, newline="")), []))
    except csv.Error:
        return ()


def _preview(path: Path) -> str:
    with path.open("rb") as file:
        text = file.read(PREVIEW_LINES * PREVIEW_CHARACTERS * 4).decode("utf-8-sig", "replace")
    lines = text.splitlines()[:PREVIEW_LINES]
    return "\n".join(_shorten("".join(c if c.isprintable() else " " for c in line)) for line in lines)


def _shorten(line: str) -> str:
    return line if len(line) <= PREVIEW_CHARACTERS else line[: PREVIEW_CHARACTERS - 1] + "…"
