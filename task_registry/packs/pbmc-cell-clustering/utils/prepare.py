"""Makes the cell clustering task: what 700 blood cells express is public, and of which type they are is hidden.

No random generator: cells are numbered in the order of a hash of their bar code.
"""

from __future__ import annotations

import csv
import hashlib
from typing import TYPE_CHECKING

import hdf5
import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

CELLS, GENES, TYPES = 700, 765, 10


def prepare(raw: Path, public: Path, private: Path) -> None:
    """Write the expression matrix, and the hidden types.

    Args:
        raw: Folder that holds ``pbmc68k_reduced.h5ad``.
        public: Folder for ``expression.npy``, ``genes.csv``, ``test.csv`` and ``sample_submission.csv``.
        private: Folder for ``test_answer.csv``.

    Raises:
        ValueError: The cells are not those this script was written for.
    """
    file = hdf5.File(raw / "pbmc68k_reduced.h5ad")
    cells, genes = file.read("obs"), file.read("raw.var")["index"]
    names = file.read("uns/bulk_labels_categories")
    if (len(cells), len(genes), len(names)) != (CELLS, GENES, TYPES):
        raise ValueError(f"{len(cells)} cells, {len(genes)} genes and {len(names)} types")
    order = sorted(range(CELLS), key=lambda cell: hashlib.sha256(bytes(cells["index"][cell])).hexdigest())

    np.save(public / "expression.npy", _expression(file)[order])
    _write(public / "genes.csv", ("column", "gene"), enumerate(name.decode() for name in genes))
    measured = (
        (number, index, cells["n_genes"][cell], int(cells["n_counts"][cell]), f"{cells['percent_mito'][cell]:.5f}")
        for index, (number, cell) in enumerate(enumerate(order, start=1))
    )
    _write(public / "test.csv", ("id", "row", "n_genes", "n_counts", "share_mitochondrial"), measured)
    ids = range(1, CELLS + 1)
    _write(public / "sample_submission.csv", ("id", "cluster"), ((number, 0) for number in ids))
    answers = ((number, cells["bulk_labels"][cell]) for number, cell in zip(ids, order, strict=True))
    _write(private / "test_answer.csv", ("id", "cluster"), answers)


def _expression(file: hdf5.File) -> np.ndarray:
    """Logarithms of normalised counts, cells by genes: the file holds those that are not 0, row by row."""
    data, columns, starts = (file.read(f"raw.X/{part}") for part in ("data", "indices", "indptr"))
    matrix = np.zeros((CELLS, GENES), dtype=np.float32)
    matrix[np.repeat(np.arange(CELLS), np.diff(starts)), columns] = data
    return matrix


def _write(path: Path, header: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    with path.open("w", newline="", encoding="utf-8") as out:
        writer = csv.writer(out, lineterminator="\n")
        writer.writerow(header)
        writer.writerows(rows)
