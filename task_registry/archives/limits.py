"""How much an archive may hold, and the count of what it does hold: the same rules for every format."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import PurePosixPath
from typing import TYPE_CHECKING

from openmle_env.errors import PreparationError
from openmle_env.printable import printable

if TYPE_CHECKING:
    from pathlib import Path

MIB = 1 << 20
_SHOWN = 120
"""Characters of a member's name in a message."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ArchiveLimits:
    """What is taken out of one archive, all nested ones included."""

    total_bytes: int = 500 << 30
    """Bytes of all files. What the disk has no space for is refused in any case."""
    files: int = 2_000_000
    """Files and folders."""
    ratio: float = 250.0
    """How many times larger than the archive its files may be, beyond the first `free_bytes`: more is a bomb."""
    free_bytes: int = 256 * MIB
    """Files of so many bytes are taken whatever the ratio: tables of zeros are small when packed."""
    name_bytes: int = 255
    """UTF-8 bytes of one part of a name, which is what file systems keep."""
    path_bytes: int = 2048
    """UTF-8 bytes of a whole name."""
    folders: int = 32
    """Folders within one another."""
    nesting: int = 4
    """Archives within one another; the outermost one is the first."""
    memory_bytes: int = 1 << 30
    """What unpacking itself may use, such as the dictionary of an xz file."""


@dataclass(slots=True)
class _Counts:
    """What an archive and those within it hold in all."""

    packed: int
    """Bytes of the outermost archive."""
    bytes: int = 0
    entries: int = 0


@dataclass(slots=True)
class Tally:
    """Counts what one archive gives and refuses what is too much or does not belong there."""

    archive: str
    """Name of the archive, for messages."""
    limits: ArchiveLimits
    counts: _Counts
    _kinds: dict[str, bool] = field(default_factory=dict)
    """Every name so far, and whether it is a folder."""

    @classmethod
    def new(cls, archive: str, packed: int, limits: ArchiveLimits) -> Tally:
        """A new count for an archive of ``packed`` bytes."""
        return cls(archive, limits, _Counts(packed))

    @classmethod
    def of(cls, path: Path, limits: ArchiveLimits, *, name: str = "") -> Tally:
        """A new count for an archive on the disk, called ``name`` where its file has another one."""
        return cls.new(name or path.name, path.stat().st_size, limits)

    def within(self, name: str) -> Tally:
        """The count for an archive within this one: its names are its own, its bytes and files are added to these."""
        return Tally(name, self.limits, self.counts)

    def refuse(self, name: str, why: str) -> PreparationError:
        """The error for an archive that is refused because of a member."""
        shown = printable(name if len(name) <= _SHOWN else f"{name[:_SHOWN]}...")
        return PreparationError(
            f"The archive {printable(self.archive)} is refused: its member {shown!r} {why}. Nothing of it was kept."
        )

    def add_bytes(self, count: int, name: str) -> None:
        """Count bytes that were unpacked.

        Raises:
            PreparationError: It is more than is taken.
        """
        limits, counts = self.limits, self.counts
        counts.bytes += count
        if counts.bytes > limits.total_bytes:
            raise self.refuse(name, f"makes it more than {limits.total_bytes:,} bytes in all")
        if counts.bytes > limits.free_bytes + limits.ratio * counts.packed:
            raise self.refuse(
                name,
                f"makes it {counts.bytes:,} bytes, from an archive of {counts.packed:,}: it may be a bomb. At most "
                f"{limits.ratio:g} times as many are taken, beyond the first {limits.free_bytes // MIB} MiB",
            )

    def add_entry(self, name: str) -> None:
        """Count one entry, whatever it is.

        Raises:
            PreparationError: There are more than are taken.
        """
        self.counts.entries += 1
        if self.counts.entries > self.limits.files:
            raise self.refuse(name, f"is one of more than {self.limits.files:,} files and folders")

    def place(self, name: str, *, folder: bool = False) -> str:
        """The place of a member below the folder that it is taken out into.

        Raises:
            PreparationError: The name leads out of the folder, is no name of a file, or another member has it.
        """
        path = self._checked(name)
        if not path and not folder:
            raise self.refuse(name, "has no name")
        known = self._kinds
        if path in known and not (folder and known[path]):  # a folder may be listed as often as it likes
            raise self.refuse(name, "is there twice")
        for above in reversed(PurePosixPath(path).parents[:-1]):
            if not known.setdefault(above.as_posix(), True):
                raise self.refuse(name, f"lies below {above.as_posix()!r}, which is a file")
        known[path] = folder
        return path

    def _checked(self, name: str) -> str:
        limits = self.limits
        plain = name.removesuffix("/")
        parts = [part for part in plain.split("/") if part not in {"", "."}]
        if name.startswith("/") or plain[1:2] == ":":
            raise self.refuse(name, "has an absolute name")
        if ".." in parts:
            raise self.refuse(name, "has a name with '..'")
        if "\\" in name or any(ord(character) < 32 or character == "\x7f" for character in name):
            raise self.refuse(name, "has a name with a backslash or a control character")
        try:
            sizes = [len(part.encode()) for part in parts]
        except UnicodeEncodeError:
            raise self.refuse(name, "has a name that is no UTF-8") from None
        if max(sizes, default=0) > limits.name_bytes or sum(sizes) + len(sizes) > limits.path_bytes:
            raise self.refuse(name, f"has a name of more than {limits.name_bytes} or {limits.path_bytes} bytes")
        if len(parts) - 1 > limits.folders:
            raise self.refuse(name, f"lies in more than {limits.folders} folders")
        return "/".join(parts)
