"""Makes the nuclei-segmentation task from one microscope image and the outlines of its nuclei.

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
"""The first row of pixels that is to be predicted."""
SIDE = 64
"""Height and width of a tile."""


def prepare(raw: Path, public: Path, private: Path) -> None:
    """Write the training strip, the tiles and the hidden masks.

    Args:
        raw: Folder that holds ``image.npy.gz`` and ``nuclei.npy.gz``, which numbers the pixels of each nucleus.
        public: Folder for the arrays, ``test.csv`` and ``sample_submission.csv``.
        private: Folder for ``test_answer.csv``.

    Raises:
        ValueError: The image is not the one this script was written for.
    """
    image, mask = _read(raw / "image.npy.gz"), (_read(raw / "nuclei.npy.gz") > 0).astype(np.uint8)
    np.save(public / "train_image.npy", image[:TRAIN_ROWS])
    np.save(public / "train_mask.npy", mask[:TRAIN_ROWS])

    tiles = sorted(
        ((top, left) for top in range(TRAIN_ROWS, SHAPE[0], SIDE) for left in range(0, SHAPE[1], SIDE)), key=_rank
    )
    np.save(public / "test_images.npy", np.stack([_tile(image, place) for place in tiles]))
    ids = [str(number) for number in range(1, len(tiles) + 1)]
    _write(public / "test.csv", ("id", "index"), ((name, index) for index, name in enumerate(ids)))
    _write(public / "sample_submission.csv", ("id", "mask"), ((name, f"0 {SIDE * SIDE}") for name in ids))
    answers = (run_lengths(_tile(mask, place)) for place in tiles)
    _write(private / "test_answer.csv", ("id", "mask"), zip(ids, answers, strict=True))


def run_lengths(mask: np.ndarray) -> str:
    """Pairs of first pixel and length, along the rows, the first pixel being 0."""
    flat = np.concatenate(([0], mask.ravel().astype(np.int8), [0]))
    edges = np.flatnonzero(np.diff(flat))
    return " ".join(f"{start} {end - start}" for start, end in zip(edges[::2], edges[1::2], strict=True))


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
    return array[top : top + SIDE, left : left + SIDE]


def _write(path: Path, header: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(header)
        writer.writerows(rows)
