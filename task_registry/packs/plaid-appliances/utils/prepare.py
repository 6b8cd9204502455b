"""Makes the appliance task: whole stretches of the recordings are hidden, so that no appliance is on both sides.

The archive's own halves take the recordings of a class in turn, in the order in which they were made, so that most
appliances are in both. Here the order is put together again, and the middle of it is hidden. No random generator:
recordings are numbered in the order of a hash of their values.
"""

from __future__ import annotations

import csv
import hashlib
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

APPLIANCES = (
    "air conditioner",
    "compact fluorescent lamp",
    "fan",
    "fridge",
    "hairdryer",
    "heater",
    "incandescent light bulb",
    "laptop",
    "microwave",
    "vacuum",
    "washing machine",
)
RECORDINGS = 537
"""In each of the two files."""
GAP = 2
"""Recordings that are left out on either side of a border: an appliance was recorded several times in a row."""


@dataclass(frozen=True)
class Recording:
    """One switching on of one appliance."""

    values: str
    """As in the file: numbers with commas between them."""
    label: int
    """Place in `APPLIANCES`."""
    place: float
    """When it was made among those of its class in its file, from 0 to 1."""


def prepare(raw: Path, public: Path, private: Path) -> None:
    """Write the recordings, and hide what was switched on in half of them.

    Args:
        raw: Folder that holds ``PLAID_TRAIN.ts`` and ``PLAID_TEST.ts``.
        public: Folder for ``train_values.npy``, ``test_values.npy``, ``train.csv``, ``test.csv`` and
            ``sample_submission.csv``.
        private: Folder for ``test_answer.csv``.

    Raises:
        ValueError: The files are not those this script was written for.
    """
    recordings = [*_read(raw / "PLAID_TRAIN.ts"), *_read(raw / "PLAID_TEST.ts")]
    parts: dict[str, list[Recording]] = {"train": [], "validation": [], "test": []}
    for label in range(len(APPLIANCES)):
        own = sorted((one for one in recordings if one.label == label), key=lambda one: (one.place, one.values))
        for name, chosen in _stretches(own):
            parts[name] += chosen
    train = sorted(parts["train"], key=_rank)
    hidden = sorted(((one, name) for name in ("validation", "test") for one in parts[name]), key=lambda x: _rank(x[0]))

    places = _store(public / "train_values.npy", train)
    rows = (
        (number, *place, APPLIANCES[one.label])
        for number, (place, one) in enumerate(zip(places, train, strict=True), 1)
    )
    _write(public / "train.csv", ("id", "start", "length", "appliance"), rows)
    places = _store(public / "test_values.npy", [one for one, _ in hidden])
    ids = range(len(train) + 1, len(train) + len(hidden) + 1)
    _write(
        public / "test.csv", ("id", "start", "length"), ((number, *at) for number, at in zip(ids, places, strict=True))
    )
    _write(public / "sample_submission.csv", ("id", "appliance"), ((number, APPLIANCES[1]) for number in ids))
    answers = ((number, APPLIANCES[one.label], name) for number, (one, name) in zip(ids, hidden, strict=True))
    _write(private / "test_answer.csv", ("id", "appliance", "part"), answers)


def _read(path: Path) -> list[Recording]:
    lines = [line.strip() for line in path.read_text(encoding="utf-8-sig").splitlines()]
    pairs = [line.rsplit(":", 1) for line in lines if line and line[0] not in "#@\ufeff"]
    if len(pairs) != RECORDINGS:
        raise ValueError(f"{path.name} has {len(pairs)} recordings, not {RECORDINGS}")
    labels = [int(label) for _, label in pairs]
    found = []
    for at, (values, _) in enumerate(pairs):
        place = (labels[:at].count(labels[at]) + 0.5) / labels.count(labels[at])
        found.append(Recording(values, labels[at], place))
    return found


def _stretches(own: list[Recording]) -> list[tuple[str, list[Recording]]]:
    """The recordings of a class, in order, by part: train, validation, test, train; borders are left out."""
    first, middle, last = (round(len(own) * share) for share in (0.25, 0.5, 0.75))
    return [
        ("train", own[: first - GAP] + own[last + GAP :]),
        ("validation", own[first + GAP : middle]),
        ("test", own[middle : last - GAP]),
    ]


def _rank(one: Recording) -> str:
    return hashlib.sha256(one.values.encode()).hexdigest()


def _store(path: Path, recordings: Sequence[Recording]) -> list[tuple[int, int]]:
    """Write the values of all, one recording after another; where each starts, and its length."""
    series = [np.array(one.values.split(","), dtype=np.float32) for one in recordings]
    np.save(path, np.concatenate(series))
    lengths = [len(values) for values in series]
    starts = np.cumsum([0, *lengths[:-1]]).tolist()
    return list(zip(starts, lengths, strict=True))


def _write(path: Path, header: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(header)
        writer.writerows(rows)
