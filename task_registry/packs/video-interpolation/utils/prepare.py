"""Makes the video-interpolation task: every other frame of a film is hidden.

No random generator: which hidden frame steers and which is opened once is told by a hash of their numbers.
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

FRAMES, ROWS, COLUMNS = SHAPE = (65, 45, 80)
PIXELS = tuple(f"p{column:02d}" for column in range(COLUMNS))


def prepare(raw: Path, public: Path, private: Path) -> None:
    """Write the frames with even numbers, and hide those with odd ones.

    Args:
        raw: Folder that holds ``frames.npy.gz``.
        public: Folder for ``train_frames.npy``, ``train_frames.csv``, ``test.csv`` and ``sample_submission.csv``.
        private: Folder for ``test_answer.csv``.

    Raises:
        ValueError: The film is not the one this script was written for.
    """
    with gzip.open(raw / "frames.npy.gz") as file:
        film = np.load(file)
    if film.shape != SHAPE or film.dtype != np.uint8:
        raise ValueError(f"frames.npy.gz is {film.dtype} of shape {film.shape}, not uint8 of shape {SHAPE}")
    np.save(public / "train_frames.npy", film[::2])
    _write(public / "train_frames.csv", ("index", "frame"), enumerate(range(0, FRAMES, 2)))

    places = [(frame, row) for frame in range(1, FRAMES, 2) for row in range(ROWS)]
    numbered = list(enumerate(places, start=1))
    _write(public / "test.csv", ("id", "frame", "row"), ((number, *place) for number, place in numbered))
    _write(
        public / "sample_submission.csv",
        ("id", *PIXELS),
        ((number, *film[frame - 1, row]) for number, (frame, row) in numbered),
    )
    parts = _parts()
    _write(
        private / "test_answer.csv",
        ("id", "frame", "part", *PIXELS),
        ((number, frame, parts[frame], *film[frame, row]) for number, (frame, row) in numbered),
    )


def _parts() -> dict[int, str]:
    """Of each two hidden frames that follow each other one is for validation: both parts have all kinds of scenes."""
    parts = {}
    for first in range(1, FRAMES, 4):
        swap = hashlib.sha256(f"frame {first}".encode()).digest()[0] % 2
        names = ("test", "validation") if swap else ("validation", "test")
        parts.update({first: names[0], first + 2: names[1]})
    return parts


def _write(path: Path, header: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(header)
        writer.writerows(rows)
