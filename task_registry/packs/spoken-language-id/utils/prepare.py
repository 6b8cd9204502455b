"""Makes the language task from telephone prompts: the speakers of the hidden clips are not among those of the others.

No random generator: clips are chosen and numbered in the order of a hash of their bytes.
"""

from __future__ import annotations

import csv
import hashlib
from typing import TYPE_CHECKING

import gsm
import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

SPEAKERS = {
    "english": ("train", "english"),
    "spanish": ("train", "spanish"),
    "french": ("train", "french"),
    "italian": ("train", "italian"),
    "russian": ("train", "russian"),
    "spanish-other": ("hidden", "spanish"),
    "french-other": ("hidden", "french"),
    "italian-other": ("hidden", "italian"),
}
"""Folder of a speaker's clips, the half they belong to, and the language."""
EACH = {"train": 160, "hidden": 100}
"""Clips of each speaker."""
SHORTEST, LONGEST = 1.0, 3.0
"""Seconds of a clip."""


def prepare(raw: Path, public: Path, private: Path) -> None:
    """Write the sound of all clips, and hide the language of the new speakers.

    Args:
        raw: Folder that holds a folder of GSM files for each of `SPEAKERS`.
        public: Folder for ``train_sound.npy``, ``test_sound.npy``, ``train.csv``, ``test.csv`` and
            ``sample_submission.csv``.
        private: Folder for ``test_answer.csv``.

    Raises:
        ValueError: A speaker has too few clips.
    """
    clips: dict[str, list[tuple[bytes, str, str]]] = {"train": [], "hidden": []}
    for speaker, (half, language) in SPEAKERS.items():
        clips[half] += [(clip, speaker, language) for clip in _chosen(raw / speaker, EACH[half])]
    for half in clips.values():
        half.sort(key=lambda clip: _rank(clip[0], "number"))
    sounds = gsm.decode([clip for half in clips.values() for clip, _, _ in half])
    known, asked = clips["train"], clips["hidden"]

    places = _store(public / "train_sound.npy", sounds[: len(known)])
    voices = {name: f"voice {number}" for number, name in enumerate(("spanish", "french", "italian", "russian"), 1)}
    voices["english"] = voices["spanish"]  # one person recorded both
    rows = (
        (number, *place, language, voices[speaker])
        for number, (place, (_, speaker, language)) in enumerate(zip(places, known, strict=True), start=1)
    )
    _write(public / "train.csv", ("id", "start", "length", "language", "voice"), rows)
    places = _store(public / "test_sound.npy", sounds[len(known) :])
    ids = range(len(known) + 1, len(known) + len(asked) + 1)
    test = ((number, *place) for number, place in zip(ids, places, strict=True))
    _write(public / "test.csv", ("id", "start", "length"), test)
    _write(public / "sample_submission.csv", ("id", "language"), ((number, "spanish") for number in ids))
    answers = ((number, language) for number, (_, _, language) in zip(ids, asked, strict=True))
    _write(private / "test_answer.csv", ("id", "language"), answers)


def _chosen(folder: Path, count: int) -> list[bytes]:
    """Clips of fitting length, no two alike."""
    frame = gsm.FRAME / gsm.RATE
    clips = {path.read_bytes() for path in folder.rglob("*.gsm") if path.parent.name != "silence"}
    fitting = [clip for clip in clips if SHORTEST <= len(clip) / gsm.FRAME_BYTES * frame <= LONGEST]
    if len(fitting) < count:
        raise ValueError(f"{folder.name} has {len(fitting)} clips of {SHORTEST} to {LONGEST} seconds, not {count}")
    return sorted(fitting, key=lambda clip: _rank(clip, "choose"))[:count]


def _rank(clip: bytes, purpose: str) -> str:
    return hashlib.sha256(purpose.encode() + clip).hexdigest()


def _store(path: Path, sounds: Sequence[np.ndarray]) -> list[tuple[int, int]]:
    """Write all samples, one clip after another; where each starts, and its length."""
    np.save(path, np.concatenate(sounds))
    lengths = [len(samples) for samples in sounds]
    return list(zip(np.cumsum([0, *lengths[:-1]]).tolist(), lengths, strict=True))


def _write(path: Path, header: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(header)
        writer.writerows(rows)
