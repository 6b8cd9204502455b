"""A task pack on disk: opened, checked for what it must hold, and hashed. Nothing of it is run here."""

from __future__ import annotations

import hashlib
import io
from dataclasses import dataclass
from functools import cached_property
from pathlib import PurePosixPath
from typing import TYPE_CHECKING

from openmle_env.errors import PackError, UsageError
from openmle_env.task_registry import files, pack_yaml
from openmle_env.task_registry.index import PACKS, slug_of
from openmle_env.task_registry.pack import PackConfig

if TYPE_CHECKING:
    from pathlib import Path

SAMPLE = "public/sample_submission.csv"
ANSWERS = "private/test_answer.csv"
GOLD = "private/gold_submission.csv"
"""The answers in the form of a submission, where a pack's answers have another."""
PREPARE_SCRIPT = "utils/prepare.py"
METRIC_SCRIPT = "utils/metric.py"
DESCRIPTIONS = ("data/public/description.md", "data/public/description.txt")
PARTS = ("raw", "utils", "references", "data")
"""The folders that belong to a pack; anything else beside them is ignored."""

_PUBLIC = "data/public"
_PRIVATE = "data/private"
_NOT_FOR_AGENTS = (_PRIVATE, "raw", "utils", "references", pack_yaml.PACK_FILE)
"""What a task's description, which agents read, may not be taken from."""

_NO_LINKS = "A task pack holds plain files and folders only: copy it in."
_LAYOUT_HELP = (
    "A pack holds either the finished files data/public/{train.csv,test.csv,sample_submission.csv} and "
    "data/private/test_answer.csv, or raw/ (or 'downloads' in pack.yaml) with utils/prepare.py, which makes them."
)


@dataclass(frozen=True, kw_only=True)
class Pack:
    """A task pack: its folder and what its ``pack.yaml`` says."""

    root: Path
    """Absolute, links resolved."""
    config: PackConfig
    """The contents of ``pack.yaml``; defaults where there is none."""
    members: dict[str, Path]
    """Every file of the pack by its name inside the folder."""

    @property
    def slug(self) -> str:
        """The task's name."""
        return self.config.slug

    @property
    def version(self) -> str:
        """Raised whenever data, split or metric change."""
        return self.config.version

    @property
    def address(self) -> str:
        """What a command or `find` is given for this pack: the name of a built-in one, else its folder."""
        return self.slug if self.root.parent == PACKS.resolve() else str(self.root)

    @cached_property
    def hash(self) -> str:
        """SHA-256 over the name and content of every file of the pack."""
        lines = [f"{name}\0{files.sha256(path)}\n" for name, path in self.members.items()]
        return hashlib.sha256("".join(lines).encode()).hexdigest()

    @property
    def is_finished(self) -> bool:
        """Whether the pack holds its prepared files, so that no script has to run."""
        return f"data/{ANSWERS}" in self.members and f"data/{SAMPLE}" in self.members

    @property
    def description(self) -> str:
        """The problem in Markdown, as its author wrote it."""
        name = self.config.description or next(name for name in DESCRIPTIONS if name in self.members)
        return self.text(name)

    @cached_property
    def requirements(self) -> str:
        """The text of the pack's requirements file; empty where it has none.

        Raises:
            PackError: It cannot be read.
        """
        return self.text(self.config.requirements) if self.config.requirements else ""

    def text(self, name: str) -> str:
        """Read a text file of the pack.

        Raises:
            PackError: It is not UTF-8, or cannot be read.
        """
        try:
            with files.opened(self.members[name]) as file:
                text = file.read().decode("utf-8-sig")
            return io.StringIO(text, newline=None).read()  # with line ends of one kind
        except UnicodeDecodeError as error:
            raise PackError(f"{self.members[name]} is not UTF-8 (byte {error.start}). Save it as UTF-8.") from error


def open_pack(folder: Path) -> Pack:
    """Open the pack in ``folder`` and check that all that it names is there.

    Raises:
        PackError: It cannot be used; the message says what is missing and what to do.
    """
    if not files.is_folder(folder):
        raise PackError(f"{folder} is not a folder. Give the folder of a task pack.")
    try:
        root = folder.resolve()
        config_path = root / pack_yaml.PACK_FILE
        if config_path.is_symlink():
            raise PackError(f"{config_path} is a symbolic link. {_NO_LINKS}")
        slug = default_slug(root)
        config = pack_yaml.read(config_path, slug) if config_path.exists() else PackConfig(slug=slug)
        members = _members(root, config)
    except OSError as error:
        raise PackError(f"{error.filename or folder} cannot be read: {error.strerror or error}.") from error
    opened = Pack(root=root, config=config, members=members)
    _check(opened)
    return opened


def default_slug(root: Path) -> str:
    """The name of a pack that states none, made from its folder's.

    >>> from pathlib import Path
    >>> default_slug(Path("/packs/My Task (2)"))
    'my-task-2'
    """
    return slug_of(root.name)


def _members(root: Path, config: PackConfig) -> dict[str, Path]:
    members: dict[str, Path] = {}
    for part in PARTS:
        folder = root / part
        if folder.is_symlink():
            raise PackError(f"{folder} is a symbolic link. {_NO_LINKS}")
        if folder.is_dir():
            members |= {f"{part}/{name}": path for name, path in files.tree(folder).items()}
    board = config.leaderboard.file if config.leaderboard else None
    for name in (pack_yaml.PACK_FILE, config.description, config.requirements, board):
        if name and name not in members:
            _refuse_links(root, name)
            if (root / name).is_file():
                members[name] = root / name
    return dict(sorted(members.items()))


def _refuse_links(root: Path, name: str) -> None:
    """Refuse a link anywhere on the way from the pack's folder to a file of it."""
    way = root
    for part in PurePosixPath(name).parts:
        way /= part
        if way.is_symlink():
            raise PackError(f"{way} is a symbolic link. {_NO_LINKS}")


def _check(pack: Pack) -> None:
    config, members = pack.config, pack.members
    if not pack.is_finished:
        if PREPARE_SCRIPT not in members and f"data/{SAMPLE}" in members:
            raise PackError(
                f"{pack.root} has no answers: data/{ANSWERS} is missing, so nothing could be graded. {_LAYOUT_HELP}"
            )
        if PREPARE_SCRIPT not in members:
            raise PackError(f"{pack.root} is no task pack: it holds no data. {_LAYOUT_HELP}")
        if not config.downloads and not any(name.startswith("raw/") for name in members):
            raise PackError(f"{pack.root} has {PREPARE_SCRIPT} and no raw/ for it to read. {_LAYOUT_HELP}")
    if config.description is None and not any(name in members for name in DESCRIPTIONS):
        raise PackError(
            f"{pack.root} has no description. Write {DESCRIPTIONS[0]}, or name a file as 'description' in pack.yaml."
        )
    _check_paths(pack)
    _check_metric(pack)
    _check_requirements(pack)


def _check_paths(pack: Pack) -> None:
    config = pack.config
    named: dict[str, str | None] = {"description": config.description}
    named |= {f"reference {reference.name!r}": reference.program for reference in config.references}
    named["broken program"] = config.broken.program if config.broken else None
    board = config.leaderboard.file if config.leaderboard else None
    if board is not None and (board == config.description or PurePosixPath(board).is_relative_to(_PUBLIC)):
        raise PackError(
            f"{pack.root / pack_yaml.PACK_FILE}: leaderboard.file is {board}, which agents see. "
            "Move it elsewhere in the pack, and correct pack.yaml."
        )
    named["leaderboard"] = board
    named["requirements file"] = config.requirements
    for what, name in named.items():
        if name is None:
            continue
        hidden: tuple[str, ...] = () if what == "leaderboard" else (_PRIVATE,)
        for place in _NOT_FOR_AGENTS if what == "description" else hidden:
            if PurePosixPath(name).is_relative_to(place):
                raise PackError(
                    f"{pack.root}: the {what} is said to be {name}, and nothing of {place} is for agents to see. "
                    "Move it elsewhere in the pack, and correct pack.yaml."
                )
        if name not in pack.members:
            raise PackError(
                f"{pack.root}: the {what} is said to be {name}, and there is no such file. "
                f"Files of a pack stand in {', '.join(part + '/' for part in PARTS)}."
            )


def _check_requirements(pack: Pack) -> None:
    if pack.config.requirements is None:
        return
    from openmle_env.sandbox import requirements  # few packs have any

    try:
        requirements.parse(pack.requirements, pack.config.requirements)
    except UsageError as error:
        raise PackError(f"{pack.root}: {error}") from error


def _check_metric(pack: Pack) -> None:
    from openmle_env.graders import metrics  # numpy

    if pack.config.metric.name == "pack" and METRIC_SCRIPT not in pack.members:
        raise PackError(
            f"{pack.root} has no metric. Write {METRIC_SCRIPT}, or name one of ours as 'metric' in pack.yaml: "
            f"openmle metrics lists the {len(metrics.names())} that there are."
        )
