"""What the cells of a file of answers are like, found in one pass that keeps none of them."""

from __future__ import annotations

import contextlib
import re
from dataclasses import dataclass, field
from itertools import compress
from typing import TYPE_CHECKING

from openmle_env.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator
    from pathlib import Path

    from openmle_env.graders.answers import Condition
    from openmle_env.graders.loading.table import TextReader
    from openmle_env.types import ColumnKind

MAX_CLASSES = 10_000
"""The most different values of a column that are kept."""

_INTEGER = re.compile(r"-?(?:0|[1-9][0-9]{0,39})(?:\.0*)?")  # at most `MAX_INTEGER_DIGITS` of the loader
"""Also as a table writes integers once it took them for floats: 3.0. Not with leading zeros, which mean something."""


@dataclass(slots=True)
class Seen:
    """What was seen of one column."""

    rows: int = 0
    integers: bool = True
    """Whether all cells are whole numbers, be they written as 3 or as 3.0."""
    numbers: bool = True
    values: set[str] = field(default_factory=set)
    """The different values, without blanks around them: all of them, or more than `MAX_CLASSES`."""

    def add(self, cells: Collection[str]) -> None:
        """Look at more cells of the column."""
        self.rows += len(cells)
        fresh = {cell.strip() for cell in cells}
        if len(self.values) <= MAX_CLASSES:
            self.values |= fresh
        self.integers = self.integers and all(map(_INTEGER.fullmatch, fresh))
        if self.numbers:
            try:
                list(map(float, fresh))
            except ValueError:
                self.numbers = False

    def fits(self, kind: ColumnKind) -> bool:
        """Whether the cells can be read as this kind; labels only where they are a yes and a no."""
        match kind:
            case "integer":
                return self.integers
            case "number" | "probability":  # no metric takes the latter before the former
                return self.numbers
            case "text":
                return True
            case "label":
                from openmle_env.graders.loading.cells import yes_and_no  # numpy

                return bool(yes_and_no(self.values))

    @property
    def classes(self) -> tuple[str, ...]:
        """The values, sorted, as whole numbers where all are: the order of rows never matters.

        Raises:
            UsageError: There are too many to be classes.
        """
        if len(self.values) > MAX_CLASSES:
            raise UsageError(f"There are more than {MAX_CLASSES:,} different classes. Tell another --kind.")
        found = self.values - {""}
        if not self.integers:
            return tuple(sorted(found))
        return tuple(str(number) for number in sorted({int(cell.partition(".")[0]) for cell in found}))


def names(answers: Path) -> tuple[str, ...]:
    """The columns of a file of answers.

    Raises:
        UsageError: It cannot be read.
    """
    with _opened(answers) as reader:
        return reader.names


def look(
    answers: Path, everywhere: Iterable[str], scored: Iterable[str], condition: Condition
) -> tuple[dict[str, Seen], dict[str, Seen]]:
    """Look at columns of a file of answers: at every cell of those ``everywhere``, at the scored rows of the others.

    Raises:
        UsageError: It cannot be read.
    """
    whole, counted = {name: Seen() for name in everywhere}, {name: Seen() for name in scored}
    wanted = list(dict.fromkeys((*whole, *counted, *([condition.column] if condition.column else []))))
    with _opened(answers) as reader:
        for batch in reader.batches(wanted):
            cells = dict(zip(wanted, batch, strict=True))
            holds = condition.holds(cells[condition.column]) if condition.column else None
            for name, seen in whole.items():
                seen.add(cells[name])
            for name, seen in counted.items():
                seen.add(cells[name] if holds is None else list(compress(cells[name], holds)))
    return whole, counted


@contextlib.contextmanager
def _opened(answers: Path) -> Iterator[TextReader]:
    from openmle_env.graders.loading.source import MAX_TASK_BYTES, Refused, open_source  # numpy
    from openmle_env.graders.loading.table import TextReader

    try:
        # Links are followed here: the file is the task's, and caches keep theirs behind links.
        with open_source(answers.resolve(), max_bytes=MAX_TASK_BYTES) as source:
            yield TextReader(source)
    except Refused as error:
        # Whoever opens a file takes it for a submission, and says so.
        what = str(error).replace("The submission ", "The file ", 1)
        raise UsageError(f"The answers {str(answers)!r} cannot be read: {what}") from None
