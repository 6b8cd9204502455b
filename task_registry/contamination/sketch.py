"""A sketch of a task: small enough to share, and enough to tell that another task has the same text or data.

A sketch holds hashes only: of the whole description, of a sample of its runs of words, and, column by column, of a
sample of the values of its public tables. Samples are the smallest hashes (bottom-k sketches, E. Cohen and H. Kaplan,
"Summarizing data using bottom-k sketches", PODC 2007), so that two sketches of overlapping data hold the same ones.
"""

from __future__ import annotations

import csv
import hashlib
import heapq
import io
import itertools
import re
import unicodedata
from typing import TYPE_CHECKING

from openmle_env.errors import PackError
from openmle_env.task_registry import files
from openmle_env.task_registry.folder import open_pack
from openmle_env.task_registry.pack import Block
from openmle_env.task_registry.pack_yaml import PACK_FILE
from openmle_env.task_registry.prepare import locate

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

RUN = 5
"""Words of a run."""
KEPT = 256
"""Hashes of a sample."""
MAX_CELLS = 20_000_000
"""Cells of a table that are read, from its top: half a minute's work."""
MAX_LINE = 1 << 20
"""Characters of a line that are looked at as one, so that a file without line ends does not fill the memory."""
MAX_CELL = 4_096
MAX_TEXT = 4 << 20
"""Bytes of a description that are read."""
_WORD = re.compile(r"[^\W_]+")
_DECIMAL = re.compile(r"[-+]?\d*\.\d+(?:[eE][-+]?\d+)?")
_TELLING_LETTERS, _TELLING_DIGITS = 6, 5


class Column(Block):
    """The sample of one column."""

    name: str
    """In lower case, words joined by ``_``."""
    sample: tuple[int, ...]
    """The smallest hashes of its telling values, ascending."""


class Sketch(Block):
    """What is kept of one task."""

    name: str
    """The task."""
    description: str
    """SHA-256 of its description's words; empty where it has none."""
    runs: tuple[int, ...]
    """The smallest hashes of runs of words of the description, ascending."""
    columns: tuple[Column, ...] = ()
    """The columns of its public tables, each name once."""


def of_text(name: str, description: str) -> Sketch:
    """The sketch of a task of which only the description is known."""
    words = _words(description)
    digest = hashlib.sha256(" ".join(words).encode()).hexdigest() if words else ""
    runs = (" ".join(words[start : start + RUN]) for start in range(max(1, len(words) - RUN + 1)) if words)
    return Sketch(name=name, description=digest, runs=_smallest(runs))


def of_task(name: str, description: str, folder: Path | None) -> Sketch:
    """The sketch of a task.

    Args:
        name: The task.
        description: Its problem in words.
        folder: Where its public tables are (CSV files, at any depth); None where they are not there.

    Raises:
        PackError: A table cannot be read.
    """
    sketch = of_text(name, description)
    if folder is None:
        return sketch
    columns: dict[str, set[int]] = {}
    for path in files.tree(folder).values():
        if path.suffix.lower() == ".csv" and "sample_submission" not in path.name.lower():
            for column, sample in _table(path).items():
                columns[column] = set(heapq.nsmallest(KEPT, columns.get(column, set()) | set(sample)))
    return sketch.model_copy(
        update={
            "columns": tuple(Column(name=column, sample=tuple(sorted(sample))) for column, sample in columns.items())
        }
    )


def _words(text: str) -> list[str]:
    """The words of a text: no case, marks, markup or line breaks; what Markdown makes of a link or a table is gone.

    >>> _words("The **Passenger's**  fate: [titanic](address)!")
    ['the', 'passenger', 's', 'fate', 'titanic']
    """
    plain = re.sub(r"\]\([^)\s]*\)|<[^<>]*>", " ", unicodedata.normalize("NFKC", text))
    return _WORD.findall(plain.casefold())


def _table(path: Path) -> dict[str, tuple[int, ...]]:
    with files.opened(path) as file, files.long_cells(16 * MAX_LINE):
        text = io.TextIOWrapper(file, encoding="utf-8-sig", errors="replace", newline="")
        reader = csv.reader(iter(lambda: text.readline(MAX_LINE), ""))
        try:
            header = next(reader, [])
            samples = [_Smallest() for _ in header]
            for row in itertools.islice(reader, MAX_CELLS // max(1, len(header))):
                for sample, cell in zip(samples, row, strict=False):
                    if _tells(cell):
                        sample.add(cell.strip()[:MAX_CELL])
        except csv.Error as error:
            raise PackError(f"{path} cannot be read as a table: {error}.") from error
    return {_column_name(name): sample.hashes() for name, sample in zip(header, samples, strict=True)}


class _Smallest:
    """The smallest hashes of values that come one by one, in memory for a few times as many."""

    def __init__(self) -> None:
        self._found: set[int] = set()
        self._most = 1 << 48

    def add(self, value: str) -> None:
        """Take a value into account."""
        found = _hash(value)
        if found < self._most:
            self._found.add(found)
            if len(self._found) >= 4 * KEPT:
                self._found = set(heapq.nsmallest(KEPT, self._found))
                self._most = max(self._found)

    def hashes(self) -> tuple[int, ...]:
        """The `KEPT` smallest, ascending."""
        return tuple(heapq.nsmallest(KEPT, self._found))


def _column_name(name: str) -> str:
    return "_".join(_WORD.findall(name.casefold()))


def _tells(cell: str) -> bool:
    """Whether a value is one that two tables do not share by chance: numbers in a row, years and classes are shared.

    >>> [_tells(cell) for cell in ("1024", "female", "Braund, Mr. Owen Harris", "7.25", "71.2833")]
    [False, False, True, False, True]
    """
    cell = cell.strip()
    if _DECIMAL.fullmatch(cell):
        return sum(character.isdigit() for character in cell.strip("0")) >= _TELLING_DIGITS
    return sum(character.isalpha() for character in cell) > _TELLING_LETTERS


def _smallest(values: Iterable[str]) -> tuple[int, ...]:
    return tuple(heapq.nsmallest(KEPT, set(map(_hash, values))))


def _hash(value: str) -> int:
    # 48 bits: exact as a number of JSON's wherever the file is read.
    return int.from_bytes(hashlib.blake2b(value.encode("utf-8", "surrogatepass"), digest_size=6).digest(), "big")


def overlap(one: tuple[int, ...], other: tuple[int, ...]) -> float:
    """The share of the smaller set's values that the other set has, estimated from their samples: 0 to 1.

    Only hashes up to the smaller of the two largest are compared: up to there both samples are complete.

    >>> overlap((1, 5, 9), (5, 9, 12)), overlap((), (1,))
    (0.6666666666666666, 0.0)
    """
    if not one or not other:
        return 0.0
    complete = min(one[-1] if len(one) >= KEPT else float("inf"), other[-1] if len(other) >= KEPT else float("inf"))
    first, second = ({value for value in sample if value <= complete} for sample in (one, other))
    smaller = min(len(first), len(second))
    return len(first & second) / smaller if smaller else 0.0


def read(path: Path) -> list[Sketch]:
    """The sketches of a file that `write` made.

    Raises:
        PackError: It is no such file.
    """
    try:
        with files.opened(path) as file:
            return [Sketch.model_validate_json(line) for line in file.read().splitlines() if line.strip()]
    except ValueError as error:
        raise PackError(f"{path} is no file of sketches: {str(error).splitlines()[0]}. Make it with --save.") from error


def write(path: Path, sketches: Iterable[Sketch]) -> None:
    """Write sketches, one line of JSON for each."""
    from openmle_env.files import write_whole

    write_whole(path, b"".join(sketch.model_dump_json().encode() + b"\n" for sketch in sketches))


def of_folder(folder: Path) -> Iterator[Sketch]:
    """The sketches of all tasks below a folder: packs, or competitions of a checkout of MLE-bench or MLE-Dojo.

    A task is a folder that holds a description: ``description.md`` or ``.txt``, in it, in ``info/`` or in
    ``data/public/``. Its tables: see `tables_of`.

    Raises:
        PackError: There is none, or a file cannot be read.
    """
    found = False
    for root in sorted({path.parent for path in _descriptions(folder)}):
        if root.name in {"info", "public"}:
            root = root.parent.parent if root.name == "public" else root.parent  # noqa: PLW2901
        description = next(_descriptions(root, deep=False))
        found = True
        yield of_task(root.name, _read(description), tables_of(root))
    if not found:
        raise PackError(f"{folder} holds no task with a description.md or description.txt.")


def tables_of(root: Path) -> Path | None:
    """Where the public tables of a task are: in its folder, or prepared from it; None where they are nowhere."""
    for place in ("data/public", "prepared/public"):
        if (root / place).is_dir():
            return root / place
    if not (root / PACK_FILE).is_file():
        return None
    try:
        prepared = locate(open_pack(root))
    except PackError:
        return None  # its text can be compared all the same
    return prepared.public if prepared else None


def _descriptions(folder: Path, *, deep: bool = True) -> Iterator[Path]:
    for name in ("description.md", "description.txt"):
        if deep:
            yield from folder.rglob(name)
        else:
            for place in ("", "info", "data/public"):
                if (folder / place / name).is_file():
                    yield folder / place / name


def _read(path: Path) -> str:
    with files.opened(path) as file:
        return file.read(MAX_TEXT).decode("utf-8-sig", "replace")
