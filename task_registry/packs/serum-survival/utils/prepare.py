"""Makes the survival task from the table of a study: who is in which half, and under which number.

Standard library only, and no random generator: people are put in order by a hash of their own row, so that every
machine writes the same bytes.
"""

from __future__ import annotations

import csv
import hashlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

PEOPLE = 7874
TEST_SHARE = 0.3
FEATURES = ("age", "sex", "sample_year", "kappa", "lambda", "flc_group", "creatinine", "mgus")
"""The table's own columns in its order, but for those after it: days, whether the person died, and of what."""
DAYS, DIED = len(FEATURES), len(FEATURES) + 1


def prepare(raw: Path, public: Path, private: Path) -> None:
    """Write the public tables, and the hidden days and deaths.

    Args:
        raw: Folder that holds ``flchain.arff``.
        public: Folder for ``train.csv``, ``test.csv`` and ``sample_submission.csv``.
        private: Folder for ``test_answer.csv``, and for ``gold_submission.csv``: answers have days, submissions risks.

    Raises:
        ValueError: The table is not the one this script was written for.
    """
    lines = (raw / "flchain.arff").read_text(encoding="utf-8").splitlines()
    table = [line for line in lines if line and line[0] not in "@%"]
    if len(table) != PEOPLE:
        raise ValueError(f"flchain.arff has {len(table)} rows, not {PEOPLE}")
    people = sorted(table, key=lambda line: _rank("number", line))
    test = _in_test(people)
    rows = [(number, *_cells(line)) for number, line in enumerate(people, start=1)]
    known = [row for row, hidden in zip(rows, test, strict=True) if not hidden]
    asked = [row for row, hidden in zip(rows, test, strict=True) if hidden]

    _write(public / "train.csv", ("id", *FEATURES, "days", "died"), known)
    _write(public / "test.csv", ("id", *FEATURES), (row[:-2] for row in asked))
    _write(public / "sample_submission.csv", ("id", "risk"), ((row[0], "0") for row in asked))
    _write(private / "test_answer.csv", ("id", "days", "died"), ((row[0], *row[-2:]) for row in asked))
    # Whoever was seen alive on a day outlived those who died on it.
    best = ((row[0], -2 * int(row[-2]) - (row[-1] == "0")) for row in asked)
    _write(private / "gold_submission.csv", ("id", "risk"), best)


def _rank(purpose: str, line: str) -> str:
    return hashlib.sha256(f"{purpose}|{line}".encode()).hexdigest()


def _cells(line: str) -> tuple[str, ...]:
    """The features, the days, and 1 for a death; what is unknown is empty. The cause of death is left out."""
    values = ["" if value == "?" else value for value in line.split(",")]
    return (*values[:DAYS], values[DAYS], "1" if values[DIED] == "dead" else "0")


def _in_test(people: Sequence[str]) -> list[bool]:
    """Whether each person is in the test half, in which the same share died as in the whole."""
    died = [line.split(",")[DIED] == "dead" for line in people]
    chosen: set[int] = set()
    for fate in (True, False):
        group = sorted((_rank("half", line), place) for place, line in enumerate(people) if died[place] is fate)
        chosen.update(place for _, place in group[: round(TEST_SHARE * len(group))])
    return [place in chosen for place in range(len(people))]


def _write(path: Path, header: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(header)
        writer.writerows(rows)
