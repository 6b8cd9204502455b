"""The first two stages: raw data as it comes, and the same with archives taken apart."""

from __future__ import annotations

import contextlib
import fnmatch
import json
import shutil
from typing import TYPE_CHECKING, Any

from openmle_env.errors import PackError, UsageError
from openmle_env.files import write_whole
from openmle_env.task_registry import files
from openmle_env.task_registry.builder import board, digests, reading
from openmle_env.task_registry.builder.kaggle.client import KaggleError, KaggleRefusedError, NotOnKaggleError
from openmle_env.types import MIB

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from openmle_env.task_registry.builder.kaggle.client import KaggleClient, Listing
    from openmle_env.task_registry.builder.sources import Source
    from openmle_env.task_registry.builder.workspace import Workspace

    Tell = Callable[[str], None]

SPARE_BYTES = 256 * MIB
GROWTH = 2
"""Times what Kaggle lists: its archive, and what is taken out of it. Archives inside may need more, and say so then."""
BUNDLE_NOT_MADE = "nothing was fetched"


def folder_digest(source: Source, to: Path) -> str:
    """What a local source holds, to tell whether it changed.

    Raises:
        UsageError: Packs would be built inside it.
        PackError: It holds links or something that cannot be read.
    """
    root = _root(source)
    if to.resolve() == root or root in to.resolve().parents:
        raise UsageError(f"Packs cannot be built into {to}, which lies in the source {root}. Choose another folder.")
    return digests.tree_digest(root)


def download(
    source: Source, work: Workspace, client: KaggleClient | None, patterns: Sequence[str], tell: Tell
) -> tuple[dict[str, object], tuple[str, ...]]:
    """Fetch the raw data of a source, whole or not at all; a run that was ended goes on where it was.

    Returns:
        What the source says of itself, and notes on what was left out.

    Raises:
        KaggleError: Kaggle does not hand it out, or does not answer.
        UsageError: No file matches the patterns.
        DiskFullError: There is no space for it.
    """
    if client is None:  # a folder is copied by the next stage: its files lie where they are
        files.remove(work.download)
        return {}, ()
    told = _told(source, client, work)
    listing = client.listing(source)
    names = _chosen(listing, patterns, source)
    size = sum(file.size or 0 for file in listing.files if names is None or file.name in names)
    already = sum(path.stat().st_size for path in work.part.rglob("*") if path.is_file()) if work.part.is_dir() else 0
    with files.storage_errors(work.folder):
        files.need_space(work.folder, max(0, GROWTH * size - already) + SPARE_BYTES)
        work.part.mkdir(parents=True, exist_ok=True)
        tell(f"{source.slug}: fetching {size / MIB:,.0f} MiB")
        client.download(source, work.part, names, tell)
        _check_sizes(work.part, listing, names)
        files.remove(work.download)
        work.part.rename(work.download)
        files.sync_folder(work.folder)
    return told, _board(source, client, work)


def extract(source: Source, work: Workspace) -> tuple[str, ...]:
    """Take apart what was fetched, or copy a folder, and list the raw files; whole or not at all.

    Returns:
        Which raw files are others than in an earlier build, with both hashes.

    Raises:
        PreparationError: An archive is not safe, or broken.
        PackError: A folder holds links.
        DiskFullError: There is no space.
    """
    from openmle_env.task_registry.archives import extraction

    new = work.folder / "raw.new"
    files.remove(new)
    with files.storage_errors(work.folder):
        new.mkdir()
        origin = _root(source) if source.kind == "folder" else work.download
        members = {name: path for name, path in files.tree(origin).items() if not name.endswith(".kaggle-partial")}
        files.need_space(work.folder, sum(path.stat().st_size for path in members.values()) + SPARE_BYTES)
        for name, path in members.items():
            (new / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(path, new / name)
        extraction.extract_tree(new)
        if not any(path.is_file() for path in new.rglob("*")):
            raise PackError(f"{source.name} holds no files.")
        _open_modes(new)
        before = digests.file_hashes(work.hashes)
        files.remove(work.raw)
        new.rename(work.raw)
        files.sync_folder(work.folder)
    write_whole(work.listing, (reading.survey(work.raw) + "\n").encode())
    digests.tree_digest(work.raw, work.hashes)
    return tuple(digests.changes(before, digests.file_hashes(work.hashes))) if before else ()


def _root(source: Source) -> Path:
    from pathlib import Path

    return Path(source.name)


def _told(source: Source, client: KaggleClient, work: Workspace) -> dict[str, object]:
    """What Kaggle says of a source. A source about which nothing is said can be built all the same."""
    if source.kind == "competition":
        found = client.competition(source) or {}
        return {key: found.get(key) for key in ("title", "description", "metric", "licence", "deadline")}
    folder = work.folder / "metadata.part"
    try:
        folder.mkdir(exist_ok=True)
        client.metadata(source, folder)
        values: Any = json.loads((folder / "dataset-metadata.json").read_text(encoding="utf-8"))
        values = json.loads(values) if isinstance(values, str) else values
        return _dataset_facts(values if isinstance(values, dict) else {})
    except (KaggleRefusedError, NotOnKaggleError):
        raise
    except (KaggleError, OSError, ValueError):
        return {}
    finally:
        files.remove(folder)


def _dataset_facts(values: Mapping[str, Any]) -> dict[str, object]:
    inner = values.get("info", values)
    facts: dict[str, object] = {key: inner.get(key) for key in ("title", "subtitle", "description")}
    licences = [one.get("name") for one in inner.get("licenses") or [] if isinstance(one, dict)]
    facts["licence"] = ", ".join(name for name in licences if isinstance(name, str))
    return facts


def _chosen(listing: Listing, patterns: Sequence[str], source: Source) -> list[str] | None:
    """The files that the patterns choose; None for all of them in one archive."""
    if not patterns:
        return None
    names = [file.name for file in listing.files if any(fnmatch.fnmatch(file.name, pattern) for pattern in patterns)]
    if not names:
        some = ", ".join(file.name for file in listing.files[:10])
        raise UsageError(f"{source.name} has no file that matches {', '.join(patterns)}; it has {some}")
    return names


def _check_sizes(folder: Path, listing: Listing, names: list[str] | None) -> None:
    """See that something is there, and that files which were fetched one by one have the size that was listed."""
    found = {path.name: path for path in folder.rglob("*") if path.is_file() and path.suffix != ".kaggle-partial"}
    if not found:
        raise KaggleError(f"Kaggle's client said that it was done, and {BUNDLE_NOT_MADE}. Run the command again.")
    if names is None:
        return
    for file in listing.files:
        path = found.get(file.name.rpartition("/")[2])
        if file.name in names and path is not None and file.size is not None and path.stat().st_size != file.size:
            size = path.stat().st_size
            path.unlink()  # the next run fetches it again, instead of taking it for whole
            raise KaggleError(f"{file.name} has {size} bytes, and Kaggle lists {file.size}. Run the command again.")


def _board(source: Source, client: KaggleClient, work: Workspace) -> tuple[str, ...]:
    """Fetch the leaderboard of a competition; a task without one has no medals, which a note says."""
    files.remove(work.leaderboard)
    if source.kind != "competition":
        return ()
    folder = work.folder / "leaderboard.part"
    files.remove(folder)
    try:
        folder.mkdir()
        client.leaderboard(source, folder)
        archive = next((path for path in sorted(folder.iterdir()) if path.is_file()), None)
        if archive is None:
            return ("No medals: Kaggle gave no leaderboard.",)
        board.write(work.leaderboard, board.scores(board.read_archive(archive)))
    except KaggleRefusedError:
        raise
    except (KaggleError, PackError) as error:
        return (f"No medals: {error}.",)
    finally:
        files.remove(folder)
    return ()


def _open_modes(folder: Path) -> None:
    """Let the user of a sandbox read what an archive or a careful owner has closed."""
    folder.chmod(0o755)
    for path in folder.rglob("*"):
        with contextlib.suppress(PermissionError):
            path.chmod(0o755 if path.is_dir() else 0o644)
