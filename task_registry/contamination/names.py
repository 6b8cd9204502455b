"""Names of the tasks of public benchmarks, so that no task for training is built from one by accident."""

from __future__ import annotations

import csv
from functools import cache
from pathlib import Path

NAMES_FILE = Path(__file__).with_name("benchmark_names.csv")
"""One row for each task: the benchmark, and what the task is called there."""


def excluded_by_name(slug: str) -> str | None:
    """The benchmark that has a task of this name, or None; case, ``_`` and ``.`` make no difference.

    >>> excluded_by_name("Spooky_Author_Identification")
    'MLE-bench'
    >>> excluded_by_name("titanic") is None
    True
    """
    return benchmark_names().get(_one_spelling(slug))


@cache
def benchmark_names() -> dict[str, str]:
    """Benchmarks by the names of their tasks, in one spelling."""
    with NAMES_FILE.open(encoding="utf-8", newline="") as file:
        return {_one_spelling(row["name"]): row["benchmark"] for row in csv.DictReader(file)}


def _one_spelling(name: str) -> str:
    return name.strip().casefold().replace("_", "-").replace(".", "-")
