"""Taking members out of an archive into a folder: those that are named, or all."""

from __future__ import annotations

import os
import re
from difflib import get_close_matches
from pathlib import PurePosixPath
from typing import TYPE_CHECKING

from openmle_env.errors import DiskFullError, PackError
from openmle_env.printable import printable
from openmle_env.task_registry import files
from openmle_env.task_registry.archives.limits import ArchiveLimits, Tally
from openmle_env.task_registry.archives.reading import members

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from openmle_env.task_registry.archives.streams import Counted

FOLDER, FILE = 0o755, 0o644
"""Permissions of what is taken out: the user of any sandbox may read it."""
SPARE_BYTES = 64 << 20
"""What is left free on the disk."""
_KNOWN = 10_000
"""How many names are kept to find one that is like a wrong one."""


def take(
    archive: Path,
    wanted: Mapping[str, str],
    folder: Path,
    limits: ArchiveLimits | None = None,
    *,
    name: str = "",
) -> None:
    """Take out the members that are named; the others are passed over, whatever they are.

    Args:
        archive: The archive, of any kind that `members` reads.
        wanted: A member's name, or a pattern, and the file below ``folder`` that it becomes; for a pattern the folder.
            In a pattern ``*`` stands for any characters of one part of a name, ``**`` for any folders; below the
            folder, files keep their place from the first part with a star on.
        folder: An existing folder. What was taken out before an error stays there: give one that is thrown away then.
        limits: How much is taken.
        name: What the archive is called, where its file has another name.

    Raises:
        PackError: A member is not there, or two would become the same file.
        PreparationError: The archive is damaged, a member is no plain file or has an impossible name, or it holds more
            than is taken.
        DiskFullError: It does not fit on the disk.
    """
    tally, places = (Tally.of(archive, limits or ArchiveLimits(), name=name) for _ in range(2))
    wish = _Wish(wanted)
    room = _room(folder)
    for member in members(archive, tally):
        target = None if member.is_folder else wish.place(plain(member.name), tally.archive)
        if target is None:
            continue
        if member.fault or member.content is None:
            raise tally.refuse(member.name, member.fault or "holds nothing")
        tally.place(member.name)
        path = folder / places.place(target)
        check_free(path, folder, tally.archive)
        room = write(member.content, path, folder, room)
    wish.check_all_came(tally.archive)


def check_free(path: Path, folder: Path, origin: str) -> None:
    """Refuse a place below a folder that something else has already.

    Raises:
        PackError: There is a file, or a folder, or a file where one of its folders should be.
    """
    if os.path.lexists(path):
        raise PackError(f"{path.relative_to(folder)} would be made twice, the second time from {origin}.")
    for above in path.parents:
        if above == folder:
            return
        if os.path.lexists(above) and not above.is_dir():
            raise PackError(
                f"{path.relative_to(folder)} of {origin} would lie below {above.relative_to(folder)}, which is a file."
            )


class _Wish:
    """Which members are wanted, and which of them came."""

    def __init__(self, wanted: Mapping[str, str]) -> None:
        self._names = {plain(name): (name, place) for name, place in wanted.items() if "*" not in name}
        self._patterns = [(name, pattern_of(plain(name)), place) for name, place in wanted.items() if "*" in name]
        self._left = set(wanted)
        self._seen: set[str] = set()

    def place(self, name: str, archive: str) -> str | None:
        """Where a member goes, if it is wanted."""
        if len(self._seen) < _KNOWN:
            self._seen.add(name)
        found = [self._names[name]] if name in self._names else []
        for wanted, pattern, place in self._patterns:
            if match := pattern.fullmatch(name):
                found.append((wanted, str(PurePosixPath(place, match["rest"]))))
        if len(found) > 1:
            raise PackError(f"'members' names {printable(name)} of {archive} twice. Name it once.")
        for wanted, place in found:
            self._left.discard(wanted)
            return place
        return None

    def check_all_came(self, archive: str) -> None:
        """Refuse a pack that names what its archive does not hold."""
        if not self._left:
            return
        name = sorted(self._left)[0]
        close = get_close_matches(plain(name), sorted(self._seen), n=1, cutoff=0.6)
        hint = f" Did you mean {printable(close[0])!r}?" if close else ""
        raise PackError(
            f"{archive} holds no {printable(name)!r}, which 'members' in 'downloads' of pack.yaml names.{hint}"
        )


def take_everything(archive: Path, folder: Path, tally: Tally) -> list[Path]:
    """Take out every member, or refuse the archive as a whole; returns the files.

    Args:
        archive: The archive, of any kind that `members` reads.
        folder: An existing, empty folder. What was taken out before an error stays there: throw it away then.
        tally: Counts what comes.

    Raises:
        PreparationError: The archive is damaged, a member is no plain file or has an impossible name, or it holds more
            than is taken.
        DiskFullError: It does not fit on the disk.
    """
    made = []
    room = _room(folder)
    for member in members(archive, tally):
        place = tally.place(member.name, folder=member.is_folder)
        if member.is_folder:
            files.make_folder(folder / place, mode=FOLDER)
        elif member.fault or member.content is None:
            raise tally.refuse(member.name, member.fault or "holds nothing")
        else:
            room = write(member.content, folder / place, folder, room)
            made.append(folder / place)
    return made


def write(content: Counted, target: Path, folder: Path, room: int) -> int:
    """Write what a member holds into a new file, its folders made where they lack; returns the room that is left.

    Raises:
        DiskFullError: There is no room.
    """
    files.make_parents(target, folder, mode=FOLDER)
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    descriptor = os.open(target, flags, 0o600)
    with os.fdopen(descriptor, "wb") as file:
        while chunk := content.read(files.CHUNK):
            room -= len(chunk)
            if room < 0:
                raise DiskFullError(
                    f"{folder} has no space for what the archive holds: it was at {printable(content.name)}. "
                    "Nothing of it was kept. Free some space, or set OPENMLE_HOME to a folder on another disk."
                )
            file.write(chunk)
        os.fchmod(descriptor, FILE)
    return room


def _room(folder: Path) -> int:
    status = os.statvfs(folder)
    return status.f_bavail * status.f_frsize - SPARE_BYTES


def plain(name: str) -> str:
    """A member's name without what means nothing: ``./a//b/`` is ``a/b``."""
    return "/".join(part for part in name.split("/") if part not in {"", "."})


def pattern_of(pattern: str) -> re.Pattern[str]:
    """The regular expression of a pattern; its group ``rest`` is what follows the last folder without a star.

    >>> bool(pattern_of("a/*.gsm").fullmatch("a/b.gsm")), bool(pattern_of("a/*.gsm").fullmatch("a/b/c.gsm"))
    (True, False)
    >>> pattern_of("usr/share/**/*.gsm").fullmatch("usr/share/en/digits/1.gsm")["rest"]
    'en/digits/1.gsm'
    """
    parts = pattern.split("/")
    fixed = next(number for number, part in enumerate(parts) if "*" in part)
    made = "".join(
        "(?:[^/]+/)*" if part == "**" else re.escape(part).replace(r"\*", "[^/]*") + "/" for part in parts[fixed:-1]
    )
    last = ".+" if parts[-1] == "**" else re.escape(parts[-1]).replace(r"\*", "[^/]*")
    before = "".join(f"{re.escape(part)}/" for part in parts[:fixed])
    return re.compile(f"{before}(?P<rest>{made}{last})", re.DOTALL)
