"""What ``utils/prepare.py`` of a pack reads: the raw files that the pack carries, and those that are fetched for it."""

from __future__ import annotations

from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING

from openmle_env import scratch, settings
from openmle_env.task_registry import files

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from openmle_env.task_registry.folder import Pack
    from openmle_env.task_registry.pack import Download

    Progress = Callable[[str, float], None]

_FOLDER, _FILE = 0o755, 0o644


def fetch(pack: Pack, tell: Progress) -> list[tuple[Download, Path]]:
    """Fetch what the pack names in 'downloads' and is not there yet; nothing is asked of any network for the rest.

    Args:
        pack: An opened pack.
        tell: Told what is being done, and the share that is done, from 0 to 1, by bytes.

    Raises:
        PackError: A registry or a person gave another file than the pack was made with.
        PreparationError: A registry has no such file.
        DiskFullError: There is no space, for the files and for as much again that is taken out of them.
        InfrastructureError: A file cannot be had, or cannot be kept.
    """
    from openmle_env.task_registry.downloads import store  # few packs fetch anything

    downloads = pack.config.downloads
    home = settings.load().home
    if missing := store.missing_bytes(downloads):
        with files.storage_errors(home):
            files.make_folder(home / store.NAME, mode=store.FOLDER)
        files.need_space(home / store.NAME, 2 * missing)
    total, before, found = sum(one.size for one in downloads), 0, []
    for download in downloads:
        start, width = before / total, download.size / total

        def part(message: str, share: float, start: float = start, width: float = width) -> None:
            tell(f"{pack.slug}: {message}", start + share * width)

        found.append((download, store.fetch(download, part)))
        before += download.size
    return found


@contextmanager
def folders(pack: Pack, tell: Progress) -> Iterator[dict[str, Path]]:
    """The folders that the script sees, by their places in its sandbox; any user may read them.

    Raises:
        PackError: As for `fetch`, or a member is not where the pack says, or two files have one place.
        PreparationError: As for `fetch`, or an archive is damaged or holds what no archive should.
        DiskFullError: There is no space.
        InfrastructureError: As for `fetch`.
    """
    fetched = fetch(pack, tell)
    with ExitStack() as stack:
        places = {}
        for inside, part in (("/data/raw", "raw"), ("/pack", "utils")):
            folder = pack.root / part
            from_elsewhere = fetched if part == "raw" else []
            if from_elsewhere or not files.readable_by_all(folder):
                folder = stack.enter_context(scratch.folder()) / "data"
                files.make_folder(folder, mode=_FOLDER)
                _copy(pack, part, folder)
                for download, path in from_elsewhere:
                    tell(f"{pack.slug}: unpacking {download.file}", 1.0)
                    _take_out(download, path, folder)
            places[inside] = folder
        yield places


def _copy(pack: Pack, part: str, folder: Path) -> None:
    for name, path in pack.members.items():
        if name.startswith(f"{part}/"):
            target = folder / name.removeprefix(f"{part}/")
            files.make_parents(target, folder, mode=_FOLDER)
            files.copy(path, target, mode=_FILE)


def _take_out(download: Download, path: Path, folder: Path) -> None:
    from openmle_env.task_registry.archives import taking  # few packs fetch anything

    if download.members:
        taking.take(path, download.members, folder, name=download.file)
        return
    target = folder / download.file
    taking.check_free(target, folder, download.file)
    files.copy(path, target, mode=_FILE)
