"""Fetched files, kept by their SHA-256 below ``OPENMLE_HOME``, so that packs share them and each is fetched once.

``downloads/<sha256>`` is a whole file, ``downloads/<sha256>.part`` the beginning of one. Nobody but the owner may read
them: raw data mostly holds the hidden answers. A file that somebody puts there under its own name is checked and taken.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from openmle_env import settings
from openmle_env.errors import InfrastructureError, PackError, PreparationError
from openmle_env.task_registry import files
from openmle_env.task_registry.downloads import debian, npm, pypi, transfer
from openmle_env.task_registry.downloads.source import Source

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from pathlib import Path

    from openmle_env.task_registry.pack import Download

    Progress = Callable[[str, float], None]

NAME = "downloads"
"""Of the folder below ``OPENMLE_HOME``."""
FOLDER, _FILE = 0o700, 0o600
"""Permissions: raw data mostly holds the answers."""
_STEPS = 10
"""How often a transfer says anew how far it is."""


def path_of(download: Download) -> Path:
    """Where a file is kept once it is whole."""
    return settings.load().home / NAME / download.sha256


def missing_bytes(downloads: Iterable[Download]) -> int:
    """How much is still to be fetched; by names and sizes only."""
    missing = 0
    for download in {one.sha256: one for one in downloads}.values():
        path = path_of(download)
        if _size(path) != download.size and _size(path.with_name(download.file)) != download.size:
            missing += max(download.size - _size(_part(path)), 0)
    return missing


def fetch(download: Download, tell: Progress | None = None) -> Path:
    """The whole file, from the store or else from its registry.

    Safe to call from several processes at once: one fetches, the others wait. A process that is killed leaves a part
    file that the next one goes on with.

    Args:
        download: What to fetch.
        tell: Told what is being done, and the share that is done, from 0 to 1.

    Raises:
        PackError: There is another file of this name, in the registry or put into the store by hand.
        PreparationError: The registry has no such file.
        DiskFullError: There is no space for it.
        InfrastructureError: It cannot be had, or the store cannot be written.
    """
    tell = tell or (lambda _message, _share: None)
    path = path_of(download)
    home = settings.load().home
    if _is_whole(path, download):
        return path
    with files.storage_errors(home):
        files.make_folder(path.parent, mode=FOLDER)
        files.make_folder(home / "locks", mode=FOLDER)
        lock = home / "locks" / f"download-{download.sha256[:32]}"
        with files.locked(lock, lambda: tell(f"waiting for another process that fetches {download.file}", 0.0)):
            if _is_whole(path, download):
                return path
            files.remove(path)
            if not _take_by_hand(path, download):
                _fetch(path, download, tell)
    return path


def _fetch(path: Path, download: Download, tell: Progress) -> None:
    part = _part(path)
    if not part.is_file() or part.is_symlink():
        files.remove(part)
    files.need_space(path.parent, download.size - min(_size(part), download.size) + files.CHUNK)
    tell(f"looking for {download.file}", 0.0)
    try:
        transfer.fill(part, download, _sources(download), _in_steps(download, tell))
    except (PreparationError, InfrastructureError) as error:
        if isinstance(error, OSError):
            raise  # the disk is full
        raise type(error)(
            f"{download.file} cannot be fetched. {error}\n"
            f"Or get it elsewhere and put it into {path.parent}: it is checked and used from there."
        ) from error
    part.chmod(_FILE)
    part.replace(path)
    files.sync_folder(path.parent)


def _sources(download: Download) -> list[Source]:
    if download.registry == "url":
        return [Source(url=download.url)]
    if download.registry == "pypi":
        return pypi.locate(download)
    return npm.locate(download) if download.registry == "npm" else debian.locate(download)


def _in_steps(download: Download, tell: Progress) -> Callable[[int], None]:
    def report(done: int) -> None:
        step = done * _STEPS // download.size * download.size // _STEPS
        tell(f"fetching {download.file}, {step / 1e6:.1f} of {download.size / 1e6:.1f} MB", done / download.size)

    return report


def _take_by_hand(path: Path, download: Download) -> bool:
    """Take what somebody put into the store under the file's own name or under its hash."""
    given = path.with_name(download.file)
    if not given.is_file():
        return False
    digest = files.sha256(given)
    if digest != download.sha256:
        raise PackError(
            f"{given} is not the file that the pack was made with: its SHA-256 is {digest}, and pack.yaml says "
            f"{download.sha256}. Remove it, so that the right one is fetched, or put the right one there."
        )
    given.chmod(_FILE)
    given.replace(path)
    files.sync_folder(path.parent)
    return True


def _is_whole(path: Path, download: Download) -> bool:
    try:
        return _size(path) == download.size and files.sha256(path) == download.sha256
    except PackError as error:  # nothing of the pack's
        raise InfrastructureError(
            f"{error} Give it back to this user, or remove it, so that it is fetched again."
        ) from error


def _part(path: Path) -> Path:
    return path.with_name(f"{path.name}.part")


def _size(path: Path) -> int:
    try:
        return path.lstat().st_size
    except OSError:
        return 0
