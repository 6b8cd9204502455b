"""What a CSV file says of the task that it makes: kind of the target, metric, columns. Each guess is said in words."""

from __future__ import annotations

import csv
import re
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

from openmle_env.errors import UsageError, unknown_name
from openmle_env.graders.loading.cells import NUMBER
from openmle_env.printable import printable

if TYPE_CHECKING:
    from pathlib import Path

FEW_VALUES = 10
"""Whole numbers of at most so many different values are classes; more are amounts."""
MOST_LABELS = 1_000
LEAST_ROWS = 40
"""Fewer rows with a target are too few for training data and two hidden parts."""
LEAST_OF_A_CLASS = 10
"""A class with fewer rows may be missing in a part."""
UNBALANCED = 0.7
"""From this share of the largest class on, the share of right rows says little."""
TEXT_WORDS = 4
"""A column whose cells have so many words on the average, most of them different, is a text."""
_ID = re.compile(r"(?:unnamed: 0|index|row|rownames|.*(?:\b|_)id|[a-z]+Id|[A-Za-z]+ID)?", re.IGNORECASE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Guess:
    """What was found out about a CSV file and its target."""

    delimiter: str
    target: str
    left_out: tuple[str, ...]
    """Columns that only number the rows."""
    columns: dict[str, str]
    """The others but the target, each with its kind: ``number``, ``text`` or ``category``."""
    labels: tuple[str, ...]
    """Classes of the target, sorted; none if it is a number."""
    metric: str
    said: tuple[str, ...]
    """What was guessed, and why: sentences for the author."""

    @property
    def is_number(self) -> bool:
        """Whether the target is a number."""
        return not self.labels

    @property
    def texts(self) -> list[str]:
        """The columns that are texts."""
        return [name for name, kind in self.columns.items() if kind == "text"]

    @property
    def modality(self) -> str:
        """tabular, text or both."""
        return "tabular" if not self.texts else "text" if len(self.texts) == len(self.columns) else "tabular+text"

    @property
    def task_type(self) -> str:
        """Kind of task."""
        if self.is_number:
            return "regression"
        return "binary classification" if len(self.labels) == 2 else "multiclass classification"


def guess(path: Path, target: str) -> Guess:
    """Look at every row of a CSV file.

    Raises:
        UnknownNameError: It has no such column.
        UsageError: It is no CSV file in UTF-8 with a header, its rows differ in width, or no task can be made of it.
    """
    delimiter, header, rows = _read(path)
    if target not in header:
        raise unknown_name("column", target, header)
    columns = dict(zip(header, zip(*rows, strict=True), strict=True)) if rows else dict.fromkeys(header, ())
    answers = [cell.strip() for cell in columns[target] if cell.strip()]
    if len(answers) < LEAST_ROWS:
        raise UsageError(
            f"{path} has {len(answers)} rows with a value in {target!r}, and {LEAST_ROWS} are needed for training data "
            "and two hidden parts."
        )
    said = []
    if blank := len(rows) - len(answers):
        said.append(f"{blank:,} rows without a value in {target!r} are left out.")
    left_out = tuple(name for name in header if name != target and _only_numbers_rows(name, columns[name]))
    if left_out:
        said.append(
            f"{', '.join(left_out)}: different in every row and named like a number of rows, so it is left out."
        )
    kinds = {name: _kind(columns[name]) for name in header if name != target and name not in left_out}
    if not kinds:
        raise UsageError(f"{path} has no column from which {target!r} could be predicted.")
    if "id" in kinds:
        raise UsageError(
            f"The column 'id' of {path} is no number of rows, and the task has an id of its own. Rename it."
        )
    if target == "id":
        raise UsageError(f"The column 'id' of {path} cannot be the target: the task has an id of its own. Rename it.")
    different = len(set(zip(*(columns[name] for name in kinds), strict=True)))
    if different < LEAST_ROWS:
        raise UsageError(
            f"{path} has {different} different rows beside {target!r}. Rows that are alike are hidden together, and "
            f"{LEAST_ROWS} different ones are needed."
        )
    labels, metric = _target(path, target, Counter(answers), said)
    if strange := next((text for text in (target, *labels) if printable(text) != text), None):
        raise UsageError(f"{strange!r} in {path} holds a control character. Leave it out.")
    return Guess(
        delimiter=delimiter,
        target=target,
        left_out=left_out,
        columns=kinds,
        labels=labels,
        metric=metric,
        said=tuple(said),
    )


def _read(path: Path) -> tuple[str, list[str], list[list[str]]]:
    try:
        with path.open(newline="", encoding="utf-8-sig") as file:
            first = file.readline()
            file.seek(0)
            delimiter = max(",;\t|", key=first.count)  # the first of these where none is there
            reader = csv.reader(file, delimiter=delimiter, strict=True)
            header = next(reader, [])
            rows = []
            for row in reader:
                if not row:
                    continue
                if len(row) != len(header):
                    raise UsageError(
                        f"{path} line {reader.line_num}: {len(row)} cells, and the header has {len(header)}. "
                        "Correct the row, or quote what holds a delimiter."
                    )
                rows.append(row)
    except UnicodeDecodeError as error:
        raise UsageError(f"{path} is not UTF-8 (byte {error.start}). Save it as UTF-8.") from error
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {error.strerror or error}.") from error
    except csv.Error as error:
        raise UsageError(f"{path} is no CSV file: {error}.") from error
    if twice := next((name for name in header if header.count(name) > 1), None):
        raise UsageError(f"{path} has the column {twice!r} twice. Rename one.")
    return delimiter, header, rows


def _target(path: Path, target: str, counts: Counter[str], said: list[str]) -> tuple[tuple[str, ...], str]:
    """Classes and metric of a target."""
    if len(counts) == 1:
        raise UsageError(f"{target!r} has the same value in every row of {path}.")
    numbers = all(NUMBER.fullmatch(value) for value in counts)
    whole = all(re.fullmatch(r"-?[0-9]+", value) for value in counts)
    if numbers and not (whole and len(counts) <= FEW_VALUES):
        said.append(f"{target!r} is a number with {len(counts):,} different values: regression, scored by rmse.")
        return (), "rmse"
    if len(counts) > MOST_LABELS:
        raise UsageError(
            f"{target!r} has {len(counts):,} different texts, too many for classes. Write the pack by hand: "
            "a metric for texts is in `openmle metrics`."
        )
    if rare := sorted(label for label, count in counts.items() if count < LEAST_OF_A_CLASS):
        shown = ", ".join(rare[:5]) + (" ..." if len(rare) > 5 else "")
        said.append(
            f"Of {len(rare)} classes there are fewer than {LEAST_OF_A_CLASS} rows ({shown}): merge or drop them."
        )
    share = max(counts.values()) / counts.total()
    metric = "accuracy" if share < UNBALANCED else "balanced_accuracy"
    said.append(
        f"{target!r} has {len(counts):,} classes, the largest with {share:.0%} of the rows: scored by {metric}."
    )
    return tuple(sorted(counts)), metric


def _only_numbers_rows(name: str, cells: tuple[str, ...]) -> bool:
    return _ID.fullmatch(name.strip()) is not None and len(set(cells)) == len(cells)


def _kind(cells: tuple[str, ...]) -> str:
    filled = [cell for cell in cells if cell.strip()]
    if all(NUMBER.fullmatch(cell.strip()) for cell in filled):
        return "number"
    words = sum(len(cell.split()) for cell in filled) / len(filled)
    return "text" if words >= TEXT_WORDS and len(set(filled)) > len(filled) / 2 else "category"
