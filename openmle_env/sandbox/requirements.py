"""Reading the file of extra packages that a pack or a user asks for: names and versions, and nothing else.

Such a file may come from a stranger. So it cannot name other files, folders, addresses or options of pip, and only
wheels are ever installed of it, whose installation runs no code of theirs.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from openmle_env.errors import UsageError

if TYPE_CHECKING:
    from openmle_env.types import Job

CUDA = Path(__file__).with_name("requirements-cuda.txt")
"""What makes an image one for GPUs: the official wheels, which bring CUDA's libraries along."""
MAX_BYTES = 1 << 18

_HASH = re.compile(r"\s+--hash[=\s]\s*\w+:[0-9a-fA-F]+")
_VERSION = r"(?:===|==|~=|!=|<=|>=|<|>)\s*[\w.*+!-]+"
_REQUIREMENT = re.compile(
    rf"(?P<name>[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?)\s*(?:\[[\w.,\s-]*\])?"
    rf"\s*(?:{_VERSION}(?:\s*,\s*{_VERSION})*|\(\s*{_VERSION}(?:\s*,\s*{_VERSION})*\s*\))?"
    r"\s*(?:;\s*[\w\s.()'\"<>=!~+*-]+)?",
    re.ASCII,
)
_ARCHIVES = (".zip", ".whl", ".tar", ".tgz", ".tbz", ".txz", ".tlz", ".gz", ".bz2", ".xz", ".lz", ".lzma")
"""Ends of what pip takes for a file of the folder that it runs in, also where it is a name or a version."""
_MOST_SHOWN = 200
"""Characters of a line in an error."""


@dataclass(frozen=True, slots=True)
class Requirements:
    """Extra packages. Two files with the same packages in another order or with other comments are equal."""

    lines: tuple[str, ...] = ()

    @property
    def text(self) -> str:
        """As a file for pip; what is named in it decides what is installed."""
        return "".join(f"{line}\n" for line in self.lines)

    @property
    def names(self) -> tuple[str, ...]:
        """The packages, as registries write them."""
        found = (_REQUIREMENT.match(line) for line in self.lines)
        return tuple(canonical(match["name"]) for match in found if match)

    def __or__(self, other: Requirements) -> Requirements:
        return Requirements(tuple(sorted({*self.lines, *other.lines})))


NONE = Requirements()


def canonical(name: str) -> str:
    """The name of a package as registries write it.

    >>> canonical("Scikit_Learn")
    'scikit-learn'
    """
    return re.sub(r"[-_.]+", "-", name).lower()


def read(path: Path | None) -> Requirements:
    """The packages that a file names; none where there is no file to read (``None``).

    Raises:
        UsageError: The file cannot be read, names no package, or has a line that is not a package with its versions.
    """
    if path is None:
        return NONE
    try:
        with path.open("rb") as file:
            content = file.read(MAX_BYTES + 1)
        text = content.decode("utf-8-sig")
    except OSError as error:
        raise UsageError(f"The requirements file {str(path)!r} cannot be read: {error.strerror or error}.") from None
    except UnicodeDecodeError:
        raise UsageError(f"The requirements file {str(path)!r} is not text in UTF-8.") from None
    if len(content) > MAX_BYTES:
        raise UsageError(f"The requirements file {str(path)!r} is larger than {MAX_BYTES >> 10} KiB.")
    return parse(text, str(path))


def of(job: Job) -> Requirements:
    """The extra packages of a job's program.

    Raises:
        UsageError: They are not written as `parse` takes them.
    """
    return parse(job.requirements, "the job's requirements") if job.requirements else NONE


def parse(text: str, source: str) -> Requirements:
    r"""The packages that a text names; ``source`` is what errors call it.

    >>> parse("# for charts\nseaborn >=0.13 # and what it needs\n", "a file").lines
    ('seaborn >=0.13',)

    Raises:
        UsageError: As for `read`.
    """
    lines = set()
    number, started, waiting = 0, 0, ""
    for number, raw in enumerate(text.splitlines(), 1):
        started = started if waiting else number
        goes_on = raw.rstrip().endswith("\\") and not raw.lstrip().startswith("#")
        line = raw.rstrip() if goes_on else re.sub(r"(^|\s)#.*", "", raw).rstrip()
        if goes_on:
            waiting += line[:-1] + " "
            continue
        whole, waiting = (waiting + line).strip(), ""
        if whole:
            lines.add(_checked(" ".join(whole.split()), f"line {started} of {source!r}"))
    if waiting.strip():
        lines.add(_checked(" ".join(waiting.split()), f"line {started} of {source!r}"))
    if not lines:
        raise UsageError(f"The requirements file {source!r} names no package.")
    return Requirements(tuple(sorted(lines)))


def _checked(line: str, where: str) -> str:
    bare = _HASH.sub("", line)
    what = "an option of pip" if line.startswith("-") or " --" in line else "no package with its versions"
    if _REQUIREMENT.fullmatch(bare) and " -" not in bare:  # what starts so is an option to pip, also in a marker
        if not _is_file(bare):
            return line
        what = "the name of a file"
    shown = line if len(line) <= _MOST_SHOWN else f"{line[:_MOST_SHOWN]}..."
    raise UsageError(
        f"{shown!r}, {where}, is {what}. Each line names one package, such as 'lightgbm==4.6.0', with hashes if you "
        "like; files, addresses and options have no place there: give wheels by --wheels, an index by --index."
    )


def _is_file(requirement: str) -> bool:
    """Whether pip would look for a file of this name; of a source archive, it runs the code."""
    plain = requirement.partition(";")[0].strip().lower()
    name, extras, _ = plain.partition("[")
    return plain.endswith(_ARCHIVES) or (bool(extras) and name.rstrip().endswith(_ARCHIVES))
