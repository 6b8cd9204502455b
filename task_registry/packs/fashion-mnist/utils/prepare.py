"""Makes the Fashion-MNIST task: the official test images, and a third of the official training images.

No random generator: pictures are chosen and numbered in the order of a hash of their pixels.
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

GARMENTS = ("t-shirt", "trousers", "pullover", "dress", "coat", "sandal", "shirt", "sneaker", "bag", "ankle boot")
IMAGES = {"train": 60_000, "t10k": 10_000}
SIDE = 28
EACH = 2_000
"""Training images of each kind."""
IMAGES_MAGIC, LABELS_MAGIC = 2051, 2049


def prepare(raw: Path, public: Path, private: Path) -> None:
    """Write the images as arrays, and hide what the test images show.

    Args:
        raw: Folder that holds the four compressed IDX files under their usual names.
        public: Folder for ``train_images.npy``, ``test_images.npy``, ``train.csv``, ``test.csv`` and
            ``sample_submission.csv``.
        private: Folder for ``test_answer.csv``.

    Raises:
        ValueError: The files are not those this script was written for.
    """
    images, labels = _read(raw, "train")
    asked, answers = _read(raw, "t10k")
    hidden = {picture.tobytes() for picture in asked}
    left = dict.fromkeys(range(len(GARMENTS)), EACH)
    chosen = []
    for place in _order(images, "choose"):
        label = int(labels[place])
        if left[label] and images[place].tobytes() not in hidden:
            left[label] -= 1
            chosen.append(place)
    known = sorted(chosen, key=lambda place: _rank(images[place], "number"))
    np.save(public / "train_images.npy", images[known])
    rows = ((number, number - 1, GARMENTS[labels[place]]) for number, place in enumerate(known, start=1))
    _write(public / "train.csv", ("id", "index", "garment"), rows)

    order = _order(asked, "number")
    np.save(public / "test_images.npy", asked[order])
    ids = range(len(known) + 1, len(known) + len(order) + 1)
    _write(public / "test.csv", ("id", "index"), ((number, index) for index, number in enumerate(ids)))
    _write(public / "sample_submission.csv", ("id", "garment"), ((number, GARMENTS[0]) for number in ids))
    right = ((number, GARMENTS[answers[place]]) for number, place in zip(ids, order, strict=True))
    _write(private / "test_answer.csv", ("id", "garment"), right)


def _read(raw: Path, name: str) -> tuple[np.ndarray, np.ndarray]:
    """Images and labels in the IDX format: a magic number and the sizes, four bytes each, and then single bytes."""
    count = IMAGES[name]
    pictures = gzip.decompress((raw / f"{name}-images-idx3-ubyte.gz").read_bytes())
    labels = gzip.decompress((raw / f"{name}-labels-idx1-ubyte.gz").read_bytes())
    if np.frombuffer(pictures, ">u4", 4).tolist() != [IMAGES_MAGIC, count, SIDE, SIDE]:
        raise ValueError(f"{name}-images-idx3-ubyte.gz does not hold {count} images of {SIDE} x {SIDE} pixels")
    if np.frombuffer(labels, ">u4", 2).tolist() != [LABELS_MAGIC, count]:
        raise ValueError(f"{name}-labels-idx1-ubyte.gz does not hold {count} labels")
    return np.frombuffer(pictures, np.uint8, offset=16).reshape(count, SIDE, SIDE), np.frombuffer(
        labels, np.uint8, offset=8
    )


def _order(images: np.ndarray, purpose: str) -> list[int]:
    return sorted(range(len(images)), key=lambda place: _rank(images[place], purpose))


def _rank(image: np.ndarray, purpose: str) -> bytes:
    return hashlib.sha256(purpose.encode() + image.tobytes()).digest()


def _write(path: Path, header: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(header)
        writer.writerows(rows)
