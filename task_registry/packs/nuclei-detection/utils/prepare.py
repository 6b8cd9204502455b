"""Makes the nuclei-detection task from one microscope image and the outlines of its nuclei.

The upper strip of the image is for training, whole; the rest is cut into tiles. No random generator: tiles are numbered
in the order of a hash of their place, so that every machine writes the same bytes.
"""

from __future__ import annotations

import csv
import gzip
import hashlib
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

SHAPE = (512, 512)
TRAIN_ROWS = 192
"""The first row of pixels that is to be searched."""
HEIGHT, WIDTH = 80, 128
"""Of a tile."""
LEAST = 20
"""Pixels of a nucleus, or of the part of it that a border leaves, that make it worth a box."""


def prepare(raw: Path, public: Path, private: Path) -> None:
    """Write the training strip with its boxes, the tiles, and the hidden boxes.

    Args:
        raw: Folder that holds ``image.npy.gz`` and ``nuclei.npy.gz``, which numbers the pixels of each nucleus.
        public: Folder for the arrays and tables.
        private: Folder for ``test_answer.csv`` and ``gold_submission.csv``, whose boxes have a confidence too.

    Raises:
        ValueError: The image is not the one this script was written for.
    """
    image, nuclei = _read(raw / "image.npy.gz"), _read(raw / "nuclei.npy.gz")
    np.save(public / "train_image.npy", image[:TRAIN_ROWS])
    _write(public / "train_boxes.csv", ("x", "y", "width", "height"), boxes(nuclei[:TRAIN_ROWS]))

    places = [(top, left) for top in range(TRAIN_ROWS, SHAPE[0], HEIGHT) for left in range(0, SHAPE[1], WIDTH)]
    places.sort(key=_rank)
    np.save(public / "test_images.npy", np.stack([_tile(image, place) for place in places]))
    ids = [str(number) for number in range(1, len(places) + 1)]
    _write(public / "test.csv", ("id", "index"), ((name, index) for index, name in enumerate(ids)))
    whole = f"0.5 0 0 {WIDTH} {HEIGHT}"
    _write(public / "sample_submission.csv", ("id", "boxes"), ((name, whole) for name in ids))
    true = [boxes(_tile(nuclei, place)) for place in places]
    _write(private / "test_answer.csv", ("id", "boxes"), zip(ids, map(_cell, true), strict=True))
    sure = ([(1, *box) for box in found] for found in true)
    _write(private / "gold_submission.csv", ("id", "boxes"), zip(ids, map(_cell, sure), strict=True))


def boxes(nuclei: np.ndarray) -> list[tuple[int, int, int, int]]:
    """Left, top, width and height of the box around each numbered nucleus that is large enough, from the top down."""
    found = []
    for number in np.unique(nuclei[nuclei > 0]):
        rows, columns = np.nonzero(nuclei == number)
        if rows.size >= LEAST:
            left, top = int(columns.min()), int(rows.min())
            found.append((left, top, int(columns.max()) + 1 - left, int(rows.max()) + 1 - top))
    return sorted(found, key=lambda box: (box[1], box[0], box[3], box[2]))


def _cell(boxes: Iterable[Sequence[int]]) -> str:
    return " ".join(str(number) for box in boxes for number in box)


def _read(path: Path) -> np.ndarray:
    with gzip.open(path) as file:
        array = np.load(file)
    if array.shape != SHAPE or array.dtype != np.uint8:
        raise ValueError(f"{path.name} is {array.dtype} of shape {array.shape}, not uint8 of shape {SHAPE}")
    return array


def _rank(place: tuple[int, int]) -> str:
    return hashlib.sha256(f"tile {place[0]} {place[1]}".encode()).hexdigest()


def _tile(array: np.ndarray, place: tuple[int, int]) -> np.ndarray:
    top, left = place
    return array[top : top + HEIGHT, left : left + WIDTH]


def _write(path: Path, header: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(header)
        writer.writerows(rows)
