"""What was prepared: the file beside the answers that says a task is whole, and of which bytes."""

from __future__ import annotations

import csv
import io
import stat
from pathlib import PurePosixPath
from typing import TYPE_CHECKING

from openmle_env.errors import PackError
from openmle_env.task_registry import files
from openmle_env.task_registry.folder import ANSWERS
from openmle_env.task_registry.pack import Block, Rewards, Submission
from openmle_env.types import PublicFile

if TYPE_CHECKING:
    from pathlib import Path

FORMAT = 2
"""Raised when what is prepared changes, so that older caches are made again."""
MANIFEST = "manifest.json"
PUBLIC_FOLDER, PUBLIC_FILE = 0o755, 0o644
"""Permissions of what programs see: the user of any container may read it."""
PRIVATE_FOLDER, PRIVATE_FILE = 0o700, 0o600
"""Permissions of the answers' side."""
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
    """The manifest, if the two folders hold exactly the files that it lists, of those sizes and our permissions.

    None where it was never made, or anything was removed, added, cut, closed, opened to others, or cannot be read.
    """
    try:
        with files.opened(private / MANIFEST) as file:
            manifest = Manifest.model_validate_json(file.read())
        if manifest.format != FORMAT or manifest.pack != pack_hash:
            return None
        listed = {file.name: file.size for file in manifest.files}
        listed[f"private/{MANIFEST}"] = (private / MANIFEST).lstat().st_size
        sides = (
            _holds(public, "public/", listed, PUBLIC_FOLDER, PUBLIC_FILE),
            _holds(private, "private/", listed, PRIVATE_FOLDER, PRIVATE_FILE),
        )
    except (OSError, ValueError):  # ValidationError and PackError are ValueErrors
        return None
    return manifest if all(sides) and ANSWERS in listed else None


def _holds(folder: Path, side: str, listed: dict[str, int], folder_mode: int, file_mode: int) -> bool:
    """Whether a folder holds the files of its side, with their sizes, the folders around them, and nothing else."""
    expected = {name.removeprefix(side): size for name, size in listed.items() if name.startswith(side)}
    folders = {"", *(above.as_posix() for name in expected for above in PurePosixPath(name).parents)} - {"."}
    found = files.entries(folder)
    if found.keys() != expected.keys() | folders:
        return False
    return all(
        status.st_mode == stat.S_IFDIR | folder_mode
        if name in folders
        else status.st_mode == stat.S_IFREG | file_mode and status.st_size == expected[name]
        for name, status in found.items()
    )


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
    """Records without the header, in one pass of constant memory, by the rules of `openmle_env.graders.loading.table`.

    A record ends with CRLF, LF or CR outside of quotes; wholly empty lines are none.
    """
    records, quoted, begun = 0, False, False
    with files.opened(path) as file:
        while chunk := file.read(files.CHUNK):
            for position, piece in enumerate(chunk.split(b'"')):
                if position:
                    quoted, begun = not quoted, True
                if not quoted:
                    first, *rest = piece.replace(b"\r", b"\n").split(b"\n")
                    begun = begun or bool(first)
                    if rest:
                        records += begun + sum(map(bool, rest[:-1]))
                        begun = bool(rest[-1])
    return max(records + begun - 1, 0)


def _header(path: Path) -> tuple[str, ...]:
    with files.opened(path) as file:
        text = file.read(files.CHUNK).decode("utf-8-sig", "replace")
    try:
        names = next((row for row in csv.reader(io.StringIO(text, newline="")) if row), [])
    except csv.Error:
        return ()
    return tuple(name.strip() for name in names)


def _preview(path: Path) -> str:
    with files.opened(path) as file:
        text = file.read(PREVIEW_LINES * PREVIEW_CHARACTERS * 4).decode("utf-8-sig", "replace")
    lines = text.splitlines()[:PREVIEW_LINES]
    return "\n".join(_shorten("".join(c if c.isprintable() else " " for c in line)) for line in lines)


def _shorten(line: str) -> str:
    return line if len(line) <= PREVIEW_CHARACTERS else line[: PREVIEW_CHARACTERS - 1] + "…"
