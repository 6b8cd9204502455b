"""The folders of a build: where each task is worked on, and where its pack ends up, whole or not there."""

from __future__ import annotations

import contextlib
import os
import shutil
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from openmle_env.errors import PackError
from openmle_env.files import write_whole
from openmle_env.task_registry import files
from openmle_env.task_registry.builder import state
from openmle_env.task_registry.folder import open_pack
from openmle_env.task_registry.pack_yaml import PACK_FILE

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

WORK = ".build"
"""Below the folder that packs are built into; nothing of it is a pack's."""
DESCRIPTION = "description.md"
FOLDERS = ("raw", "utils", "references")
"""What a pack has of the work, beside `pack.yaml` and the description."""


@dataclass(frozen=True, slots=True)
class Workspace:
    """Where one task is built. The folder is a pack as soon as `pack.yaml` is there; other things lie beside it."""

    to: Path
    """The folder that packs are built into."""
    slug: str
    """The pack's name."""

    @property
    def folder(self) -> Path:
        """Everything of the work on this task."""
        return self.to / WORK / self.slug

    @property
    def download(self) -> Path:
        """What was fetched, as it came; whole or not there."""
        return self.folder / "download"

    @property
    def part(self) -> Path:
        """What is being fetched; a run that was ended goes on here."""
        return self.folder / "download.part"

    @property
    def raw(self) -> Path:
        """The raw files, archives taken apart; whole or not there."""
        return self.folder / "raw"

    @property
    def listing(self) -> Path:
        """Names and sizes of the raw files, for a model."""
        return self.folder / "notes" / "files.txt"

    @property
    def info(self) -> Path:
        """What is known of the source beside its files, as JSON."""
        return self.folder / "notes" / "info.json"

    @property
    def data_notes(self) -> Path:
        """What a model found out about the raw files."""
        return self.folder / "notes" / "data.md"

    @property
    def problem(self) -> Path:
        """The problem as a model wrote it; the description is made of it."""
        return self.folder / "notes" / "problem.md"

    @property
    def plan(self) -> Path:
        """Columns and kind of the task, as JSON."""
        return self.folder / "notes" / "plan.json"

    @property
    def made(self) -> Path:
        """What is known of the files that the script makes, as JSON: hashes, headers, kinds of answers."""
        return self.folder / "notes" / "made.json"

    @property
    def leaderboard(self) -> Path:
        """Scores of the competition's teams; only where they say something."""
        return self.folder / "leaderboard.csv"

    @property
    def report(self) -> Path:
        """What the quality gate said."""
        return self.folder / "notes" / "report.json"

    @property
    def published(self) -> Path:
        """Hashes of the packs that this build put in the pack's place, a line each."""
        return self.folder / "notes" / "published.txt"

    @property
    def hashes(self) -> Path:
        """Hashes of the raw files by size and time."""
        return self.folder / "notes" / "raw.hashes.json"

    @property
    def prepare_script(self) -> Path:
        """The script that makes the task's files."""
        return self.folder / "utils" / "prepare.py"

    @property
    def metric_script(self) -> Path:
        """The pack's own metric; only where none of ours fits."""
        return self.folder / "utils" / "metric.py"

    @property
    def pack(self) -> Path:
        """The pack, once it is whole."""
        return self.to / self.slug

    def make(self) -> None:
        """Make the folders that stages write into."""
        for name in ("notes", "utils", "references"):
            (self.folder / name).mkdir(parents=True, exist_ok=True)

    @contextmanager
    def locked(self, waiting: Callable[[], None]) -> Iterator[None]:
        """Keep other processes from working on this task; a lock ends with its process."""
        self.make()
        with files.locked(self.folder / ".lock", waiting):
            yield

    def need_place(self) -> None:
        """See that the pack's place is free, or holds a pack of this build.

        Raises:
            PackError: It holds something else.
        """
        if os.path.lexists(self.pack) and not self.published.is_file():
            raise PackError(
                f"{self.pack} is in the way, and this build did not make it. Move it, or build into another folder."
            )

    def _published_hashes(self) -> list[str]:
        return self.published.read_text(encoding="utf-8").split() if self.published.is_file() else []

    def publish(self) -> None:
        """Put the pack in its place, over an older one of this build. Raw files are linked, not copied.

        Raises:
            PackError: Something that this build did not make is in the way, or somebody changed what it made.
        """
        self.need_place()
        hashes = self._published_hashes()
        if os.path.lexists(self.pack) and open_pack(self.pack).hash not in hashes:
            raise PackError(
                f"{self.pack} is not as this build left it, and would be lost. Move it away, and run the stage 'check' "
                f"again; what is to stay changed has to be changed in {self.folder}."
            )
        new, old = (self.to / WORK / f".{self.slug}.{word}" for word in ("new", "old"))
        for left in (new, old):  # of a run that was killed
            files.remove(left)
        for name in FOLDERS:
            if (self.folder / name).is_dir():
                shutil.copytree(self.folder / name, new / name, copy_function=_link)
        for source in (self.folder / DESCRIPTION, self.folder / PACK_FILE, self.leaderboard):
            if source.is_file():
                shutil.copyfile(source, new / source.name)
        hashes.append(open_pack(new).hash)
        write_whole(self.published, ("\n".join(dict.fromkeys(hashes)) + "\n").encode())
        if self.pack.exists():
            self.pack.rename(old)
        new.rename(self.pack)
        files.sync_folder(self.to)
        files.remove(old)


def states(to: Path) -> list[state.TaskState]:
    """The states of all tasks that are built into a folder, by name; one that cannot be read counts as failed."""
    work = to / WORK
    if not work.is_dir():
        return []
    folders = [one for one in sorted(work.iterdir()) if one.is_dir() and not one.name.startswith(".")]
    return [one for one in map(_state_of, folders) if one is not None]


def _state_of(folder: Path) -> state.TaskState | None:
    try:
        return state.read(folder)
    except PackError as error:
        lost = state.Stage(outcome="failed", inputs="", reason=str(error))
        return state.TaskState(slug=folder.name, kind="folder", name="", stages={"download": lost})


def _link(source: str, target: str) -> None:
    """A second name of the same file where that is possible, else a copy."""
    with contextlib.suppress(OSError):
        os.link(source, target)
        return
    shutil.copyfile(source, target)
