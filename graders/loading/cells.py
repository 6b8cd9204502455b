"""Converting text cells by the kind that the task declares; nothing is guessed from the data."""

from __future__ import annotations

import math
import re
from decimal import Decimal, InvalidOperation
from enum import Enum
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from openmle_env.errors import PackError
from openmle_env.graders.echo import show_some

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Sequence

    from openmle_env.graders.rows import Array
    from openmle_env.types import Column, SubmissionSchema

MAX_NUMBER_CHARACTERS = 1_000
"""The longest spelling of a number; the longest exact decimal of a double has fewer digits."""

MAX_SHORT_INTEGER = 18
"""The most characters that surely fit into 64 bits."""

MAX_INTEGER_DIGITS = 40
"""The most digits of an integer, so that ``1e999999`` cannot take memory."""

MAX_SPELLINGS = 1_000
"""Spellings of the labels of one column that are remembered, beside the task's own."""

# float() and int() accept more than a data file should: underscores, other scripts' digits, "infinity".
NUMBER = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")
PLAIN_INTEGER = re.compile(r"0|-?[1-9][0-9]{0,17}")
_ORDINARY = {
    "integer": re.compile(r"[0-9-]*+"),
    "number": re.compile(r"[0-9.eE+-]*+"),
    "probability": re.compile(r"[0-9.eE+-]*+"),
}
"""The characters of which int() and float() accept nothing but what we accept, in cells of a bounded length."""
_NOT_FINITE_WORDS = frozenset({"nan", "inf", "infinity"})

_TRUE_WORDS = frozenset({"true", "t", "yes", "y", "1"})
_FALSE_WORDS = frozenset({"false", "f", "no", "n", "0"})


class CellFault(Enum):
    """What is wrong with one cell; the value is the problem's code."""

    BLANK = "blank_values"
    NOT_FINITE = "not_finite"
    NOT_A_NUMBER = "not_a_number"
    NOT_AN_INTEGER = "not_an_integer"
    TOO_LARGE_INTEGER = "too_large_integer"
    OUT_OF_RANGE = "out_of_range"
    UNKNOWN_LABEL = "unknown_label"


def check_schema(schema: SubmissionSchema) -> None:
    """Refuse a schema that no file could satisfy.

    Raises:
        PackError: Names are empty, padded or used twice, there is no target, the id is not an integer or text, a
            label column lists no labels or one of them twice, or a name or label holds what no file can.
    """
    names = schema.columns
    for name in names:
        if not name or name != name.strip():
            raise PackError(f"Column name {name!r} of the submission schema is empty or has blanks around it.")
        if not is_writable(name) or "\ufeff" in name:
            raise PackError(f"Column name {name!r} holds a NUL, a byte-order mark or half a character; rename it.")
    if len(set(names)) < len(names):
        raise PackError(f"The submission schema names a column twice: {', '.join(names)}.")
    if not schema.targets:
        raise PackError("The submission schema has no target column; state at least one.")
    if schema.id.kind not in {"integer", "text", "label"}:
        raise PackError(f"The id column {schema.id.name!r} is of kind {schema.id.kind!r}; ids are integer or text.")
    for target in schema.targets:
        if target.kind == "label" and (not target.labels or len(set(target.labels)) < len(target.labels)):
            raise PackError(
                f"The label column {target.name!r} must list every label once; it lists {len(target.labels):,}: "
                f"{show_some(target.labels, len(target.labels))}."
            )
        if not is_writable("".join(target.labels)):
            raise PackError(f"A label of column {target.name!r} holds a NUL or half a character; correct it.")


def is_writable(text: str) -> bool:
    """Whether a text can stand in a file that we read: without NUL, and with an encoding in UTF-8."""
    try:
        return b"\0" not in text.encode()
    except UnicodeEncodeError:
        return False


def convert(cells: Sequence[str], column: Column) -> tuple[Array, dict[CellFault, list[int]]]:
    """Convert every cell; returns the values (see `openmle_env.graders.rows`) and where those that cannot be stand.

    The value of a cell that cannot be converted means nothing.
    """
    easy = _convert_easy(cells, column)
    if easy is not None:
        return easy, {}
    read = _reader(column)
    values: list[Any] = []
    faults: dict[CellFault, list[int]] = {}
    blank = "" if column.kind == "text" else 0
    for position, cell in enumerate(cells):
        value = read(cell)
        if isinstance(value, CellFault):
            faults.setdefault(value, []).append(position)
            value = blank
        values.append(value)
    return np.array(values, dtype=_TYPES[column.kind]), faults


def _convert_easy(cells: Sequence[str], column: Column) -> Array | None:
    """The values where every cell is an ordinary one, several times faster; None where any needs a closer look."""
    if column.kind == "text":
        return None if "" in cells and not column.blank else np.array(cells, dtype=np.object_)
    if column.kind == "label" or not _ORDINARY[column.kind].fullmatch("".join(cells)):
        return None
    if max(map(len, cells), default=0) > (MAX_SHORT_INTEGER if column.kind == "integer" else MAX_NUMBER_CHARACTERS):
        return None
    try:
        if column.kind == "integer":
            return np.array(list(map(int, cells)), dtype=np.int64)
        values = np.array(list(map(float, cells)), dtype=np.float64)
    except ValueError:
        return None
    if not np.isfinite(values).all():
        return None
    return values if column.kind == "number" or ((values >= 0.0) & (values <= 1.0)).all() else None


def canonical_ids(
    cells: Sequence[str], column: Column, *, as_text: bool
) -> tuple[Array | list[str], dict[int, CellFault], dict[int, str]]:
    """The `canonical_id` of every cell.

    Returns:
        The ids (an int64 array where they are integers and not wanted as text, else texts), the faults by position,
        and, by position, the integers that are too large for the array. What stands in their places means nothing.
    """
    faults: dict[int, CellFault] = {}
    huge: dict[int, str] = {}
    if column.kind != "integer":
        texts = [cell.strip() for cell in cells]
        if "" in texts:
            faults = {position: CellFault.BLANK for position, text in enumerate(texts) if not text}
        return texts, faults, huge
    if not as_text and (easy := _convert_easy(cells, column)) is not None:
        return easy, faults, huge
    texts = []
    for position, cell in enumerate(cells):
        key = canonical_id(cell, column)
        if isinstance(key, CellFault):
            faults[position] = key
            key = "0"
        elif not as_text and not -(1 << 63) <= int(key) < 1 << 63:
            huge[position] = key
            key = "0"
        texts.append(key)
    return (texts if as_text else np.array(list(map(int, texts)), dtype=np.int64)), faults, huge


def canonical_id(cell: str, column: Column) -> str | CellFault:
    """The one spelling of an id: ``1.0`` is ``1`` where ids are integers, ``007`` stays ``007`` where they are text."""
    if column.kind != "integer":
        return cell.strip() or CellFault.BLANK
    if PLAIN_INTEGER.fullmatch(cell):
        return cell
    value = _integer(cell)
    return value if isinstance(value, CellFault) else str(value)


def yes_and_no(labels: Collection[str]) -> dict[bool, str]:
    """The label that is a yes (True) and the one that is a no; empty where ``labels`` are not one of each.

    >>> yes_and_no(["No", "yes"])
    {False: 'No', True: 'yes'}
    """
    if len(labels) != 2:
        return {}
    words = {truth: label for label in labels if (truth := _truth(label)) is not None}
    return words if len(words) == 2 else {}


def array_type(column: Column) -> type[np.generic]:
    """The type of the array that a column becomes; `openmle_env.graders.rows` says what it holds."""
    return _TYPES[column.kind]


_TYPES: dict[str, type[np.generic]] = {
    "integer": np.int64,
    "number": np.float64,
    "probability": np.float64,
    "label": np.int32,
    "text": np.object_,
}


def _reader(column: Column) -> Callable[[str], int | float | str | CellFault]:
    match column.kind:
        case "integer":
            return _int64
        case "number":
            return _number
        case "probability":
            return _probability
        case "label":
            return _spellings(column.labels)
        case "text":
            return _text_or_blank if column.blank else _text


def _text(cell: str) -> str | CellFault:
    return cell or CellFault.BLANK


def _text_or_blank(cell: str) -> str:
    return cell


def _number(cell: str) -> float | CellFault:
    cell = cell.strip()
    if not NUMBER.fullmatch(cell) or len(cell) > MAX_NUMBER_CHARACTERS:
        if not cell:
            return CellFault.BLANK
        word = cell[:10].lstrip("+-").lower()
        return CellFault.NOT_FINITE if word in _NOT_FINITE_WORDS else CellFault.NOT_A_NUMBER
    value = float(cell)
    return value if math.isfinite(value) else CellFault.NOT_FINITE


def _probability(cell: str) -> float | CellFault:
    value = _number(cell)
    if isinstance(value, float) and not 0.0 <= value <= 1.0:
        return CellFault.OUT_OF_RANGE
    return value


def _int64(cell: str) -> int | CellFault:
    value = _integer(cell)
    if isinstance(value, int) and not -(1 << 63) <= value < 1 << 63:
        return CellFault.TOO_LARGE_INTEGER
    return value


def _integer(cell: str) -> int | CellFault:
    """An integer; ``1.0`` and ``1e3`` are accepted, since nothing is lost."""
    cell = cell.strip()
    if PLAIN_INTEGER.fullmatch(cell):
        return int(cell)
    number = _number(cell)
    if isinstance(number, CellFault):
        return number
    exact = _exact(cell)
    if exact is None:
        return CellFault.NOT_AN_INTEGER
    if not exact:
        return 0
    if exact.adjusted() >= MAX_INTEGER_DIGITS or exact != exact.to_integral_value():
        return CellFault.NOT_AN_INTEGER
    return int(exact)


@lru_cache(maxsize=16)
def _spellings(labels: tuple[str, ...]) -> _Spellings:
    return _Spellings(labels)  # kept from batch to batch: there may be a million labels


class _Spellings:
    """Maps a cell to the position of one of the task's labels.

    The label itself comes first, then the label without blanks around the cell, then the same number in another
    spelling (``1.0`` for ``1``), then, where the task has two labels that are a yes and a no, any spelling of those.
    """

    def __init__(self, labels: tuple[str, ...]) -> None:
        self._known = {label: code for code, label in enumerate(labels)}
        self._others: dict[str, int | CellFault] = {}
        numbers: dict[Decimal, list[int]] = {}
        for code, label in enumerate(labels):
            number = _label_number(label)
            if number is not None:
                numbers.setdefault(number, []).append(code)
        self._numbers = {number: same[0] for number, same in numbers.items() if len(same) == 1}
        self._booleans = {truth: labels.index(label) for truth, label in yes_and_no(labels).items()}

    def __call__(self, cell: str) -> int | CellFault:
        code = self._known.get(cell, self._others.get(cell))
        if code is None:
            code = self._find(cell)
            if len(self._others) < MAX_SPELLINGS and len(cell) <= MAX_INTEGER_DIGITS:
                self._others[cell] = code
        return code

    def _find(self, cell: str) -> int | CellFault:
        stripped = cell.strip()
        known = self._known.get(stripped)
        if known is not None:
            return known
        if not stripped:
            return CellFault.BLANK
        number = _label_number(stripped)
        if number is not None and number in self._numbers:
            return self._numbers[number]
        truth = _truth(stripped)
        if truth is not None and truth in self._booleans:
            return self._booleans[truth]
        return CellFault.UNKNOWN_LABEL


def _label_number(text: str) -> Decimal | None:
    """The number that a label spells; None for codes such as ``007``, whose zeros mean something."""
    if len(text) > MAX_INTEGER_DIGITS or not NUMBER.fullmatch(text):
        return None
    digits = text.lstrip("+-")
    if len(digits) > 1 and digits[0] == "0" and digits[1].isdigit():
        return None
    return _exact(text)


def _exact(number: str) -> Decimal | None:
    """The exact value; None where its exponent is beyond what `Decimal` holds, as in ``1e-99999999999999999999``."""
    try:
        return Decimal(number)
    except InvalidOperation:
        return None


def _truth(text: str) -> bool | None:
    word = text.casefold()
    number = _label_number(word)
    if number is not None and number in {0, 1}:
        return bool(number)
    if word in _TRUE_WORDS:
        return True
    return False if word in _FALSE_WORDS else None
