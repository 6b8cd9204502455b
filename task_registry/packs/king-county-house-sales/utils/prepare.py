"""Makes the house price task: the sales from March 2015 on are hidden, and each house is there once.

Standard library only, and no random generator: sales are numbered in the order of a hash.
"""

from __future__ import annotations

import csv
import hashlib
import math
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

SALES = 21_613
FIRST_HIDDEN = "2015-03-01"
ID = "id"
TARGET = "price"
HOUSE = ("zipcode", "latitude", "longitude", "sqft_lot", "sqft_living", "year_built")
"""A house is told from others by these columns."""
FEATURES = {
    "zipcode": "zipcode",
    "latitude": "latitude",
    "longitude": "longitude",
    "sqft_lot": "lot",
    "sqft_living": "living",
    "sqft_basement": "basement",
    "sqft_living_15nn": "living_neighbours",
    "floors": "floors",
    "bedrooms": "bedrooms",
    "bathrooms": "bathrooms",
    "waterfront": "waterfront",
    "view": "view",
    "condition": "condition",
    "grade": "grade",
    "year_built": "year_built",
    "year_renovated": "year_renovated",
}
"""Columns of the raw table, and what they are called here."""

Row = tuple[str, ...]


def prepare(raw: Path, public: Path, private: Path) -> None:
    """Write the public tables and the hidden answers.

    Args:
        raw: Folder that holds ``house_sales.csv``.
        public: Folder for ``train.csv``, ``test.csv`` and ``sample_submission.csv``.
        private: Folder for ``test_answer.csv``.

    Raises:
        ValueError: The table is not the one this script was written for.
    """
    with (raw / "house_sales.csv").open(newline="", encoding="utf-8") as file:
        table = list(csv.DictReader(file))
    if len(table) != SALES:
        raise ValueError(f"house_sales.csv has {len(table)} rows, not {SALES}")

    first: dict[Row, Row] = {}
    for sale in sorted((_date(row), *(row[name] for name in FEATURES), row[TARGET]) for row in table):
        house = tuple(sale[1 + list(FEATURES).index(name)] for name in HOUSE)
        first.setdefault(house, sale)
    sales = [(str(number), *sale) for number, sale in enumerate(sorted(first.values(), key=_hash), start=1)]
    train = [sale for sale in sales if sale[1] < FIRST_HIDDEN]
    test = [sale for sale in sales if sale[1] >= FIRST_HIDDEN]

    header = (ID, "date", *FEATURES.values())
    # The constant that is best by the metric: the mean on the scale of logarithms.
    constant = math.expm1(math.fsum(math.log1p(int(sale[-1])) for sale in train) / len(train))
    _write(public / "train.csv", (*header, TARGET), train)
    _write(public / "test.csv", header, (sale[:-1] for sale in test))
    _write(public / "sample_submission.csv", (ID, TARGET), ((sale[0], f"{constant:.0f}") for sale in test))
    _write(private / "test_answer.csv", (ID, TARGET), ((sale[0], sale[-1]) for sale in test))


def _date(row: dict[str, str]) -> str:
    return f"{int(row['year'])}-{int(row['month']):02}-{int(row['day']):02}"


def _hash(sale: Row) -> str:
    return hashlib.sha256("|".join(("king-county", *sale[:-1])).encode()).hexdigest()


def _write(path: Path, header: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(header)
        writer.writerows(rows)
