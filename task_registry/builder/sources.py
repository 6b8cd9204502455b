"""What a pack is built from: a Kaggle competition, a Kaggle data set or a folder, as people name them."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal
from urllib.parse import urlsplit

from openmle_env.errors import UsageError
from openmle_env.task_registry import files
from openmle_env.task_registry.folder import default_slug
from openmle_env.task_registry.index import MAX_SLUG

if TYPE_CHECKING:
    from collections.abc import Sequence

Kind = Literal["competition", "dataset", "folder"]

SITE = "https://www.kaggle.com"
_HOSTS = frozenset({"kaggle.com", "www.kaggle.com"})
_NAME = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9_-]*[A-Za-z0-9])?")
"""Names of competitions, owners and data sets."""
_FORMS = (
    "Give a competition's name (titanic) or address, a data set's owner and name (owner/name) or address, or a folder "
    "with a '/' at its start or a dot (./data)."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """Where the raw data of one pack comes from."""

    kind: Kind
    """What it is."""
    name: str
    """``titanic``, ``owner/name``, or the whole path of a folder."""
    slug: str
    """What the pack will be called."""

    @property
    def on_kaggle(self) -> bool:
        """Whether Kaggle's client has to fetch it."""
        return self.kind != "folder"

    @property
    def address(self) -> str:
        """Where people find it."""
        part = {"competition": "competitions/", "dataset": "datasets/"}.get(self.kind)
        return f"{SITE}/{part}{self.name}" if part else self.name

    @property
    def rules(self) -> str:
        """The page on which a competition's rules are accepted."""
        return f"{self.address}/rules"

    @property
    def benchmark_names(self) -> tuple[str, ...]:
        """The names by which a benchmark could know it."""
        return (self.slug, self.name.rpartition("/")[2])


def parse(text: str) -> Source:
    """Tell what somebody means by the name of a source.

    Raises:
        UsageError: It is none of the forms, or the folder does not exist.

    >>> parse("https://www.kaggle.com/c/titanic/data").name
    'titanic'
    >>> parse("kaggle.com/datasets/uciml/iris?select=Iris.csv").slug
    'uciml-iris'
    """
    given = text.strip()
    if given.startswith(("/", ".", "~")):
        return _folder(given)
    if "://" in given or given.lower().startswith(tuple(f"{host}/" for host in _HOSTS)):
        return _address(given)
    parts = given.strip("/").split("/")
    if len(parts) == 1:
        return _competition(parts[0], text)
    if len(parts) == 2 and parts[0] in {"c", "competitions"}:
        return _competition(parts[1], text)
    if len(parts) == 2:
        return _dataset(parts[0], parts[1], text)
    raise UsageError(f"{text!r} is no source of a task pack. {_FORMS}")


def parse_all(texts: Sequence[str]) -> list[Source]:
    """`parse` for many, refused where two of them would make a pack of the same name; one that is repeated counts once.

    Raises:
        UsageError: One is wrong, or two clash.
    """
    found: dict[str, Source] = {}
    for text in texts:
        source = parse(text)
        other = found.setdefault(source.slug, source)
        if other != source:
            raise UsageError(
                f"{other.name!r} and {source.name!r} would both become the pack {source.slug!r}. "
                "Build them into different folders."
            )
    return list(found.values())


def read_list(path: Path) -> list[str]:
    """The sources that a text file lists, one a line; empty lines and what follows a ``#`` are left out.

    Raises:
        UsageError: It cannot be read.
    """
    try:
        lines = path.read_text(encoding="utf-8-sig").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"The list of sources {path} cannot be read: {error}. Give a UTF-8 text file.") from error
    return [name for line in lines if (name := line.partition("#")[0].strip())]


def _folder(given: str) -> Source:
    path = Path(given).expanduser()
    if not files.is_folder(path):
        raise UsageError(f"{given!r} is not a folder that exists. {_FORMS}")
    whole = path.resolve()
    return Source(kind="folder", name=str(whole), slug=default_slug(whole))


def _address(given: str) -> Source:
    parts = urlsplit(given if "://" in given else f"https://{given}")
    steps = [step for step in parts.path.split("/") if step]
    if (parts.hostname or "") not in _HOSTS:
        raise UsageError(f"{given!r} is no address of Kaggle. {_FORMS}")
    if len(steps) >= 2 and steps[0] in {"c", "competitions"}:
        return _competition(steps[1], given)
    if len(steps) >= 3 and steps[0] == "datasets":
        return _dataset(steps[1], steps[2], given)
    raise UsageError(f"{given!r} is the address of neither a competition nor a data set. {_FORMS}")


def _competition(name: str, given: str) -> Source:
    _check(name, given)
    return Source(kind="competition", name=name, slug=_slug(name))


def _dataset(owner: str, name: str, given: str) -> Source:
    _check(owner, given)
    _check(name, given)
    return Source(kind="dataset", name=f"{owner}/{name}", slug=_slug(f"{owner}-{name}"))


def _check(name: str, given: str) -> None:
    if not _NAME.fullmatch(name):
        raise UsageError(f"{given!r} holds {name!r}, which is no name on Kaggle. {_FORMS}")


def _slug(name: str) -> str:
    return name.lower()[:MAX_SLUG].rstrip("-_")
