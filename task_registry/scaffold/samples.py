"""Made-up raw data for a pack without any: small, the same on every machine, and with something to learn in it."""

from __future__ import annotations

import csv
import hashlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

ROWS = 400
SIDE = 16
"""Height and width of an image, in pixels."""
SHAPES = ("disc", "frame", "cross")

_GOOD = ("lovely", "quick", "sturdy", "bright", "friendly", "quiet")
_BAD = ("dull", "slow", "flimsy", "noisy", "rude", "leaky")
_THINGS = ("kettle", "lamp", "bicycle", "hotel", "radio", "chair", "phone")
_FILLERS = ("it came on a Monday", "my sister has one too", "the box was blue", "we paid in cash", "it was a present")


def chance(*what: object) -> float:
    """A number from 0 to below 1 that depends on nothing but the arguments.

    >>> round(chance("a", 1), 4)
    0.0221
    """
    digest = hashlib.sha256("\0".join(map(str, what)).encode()).digest()
    return int.from_bytes(digest[:4]) / 2**32


def write_table(path: Path) -> str:
    """Houses and what heating them takes; returns the name of the target."""
    rows = []
    for number in range(ROWS):
        area, insulation = 40 + 160 * chance("area", number), chance("insulation", number)
        built = int(1900 + 120 * chance("built", number))
        heated_by = ("gas", "oil", "heat pump")[int(3 * chance("heated by", number))]
        noise = chance("noise", number) + chance("more noise", number) - 1
        demand = area * (1.6 - insulation) * (1 if built < 1980 else 0.6) * (0.4 if heated_by == "heat pump" else 1)
        rows.append((f"{area:.1f}", f"{insulation:.2f}", built, heated_by, f"{demand + 15 * noise:.2f}"))
    _write(path, ("area", "insulation", "built", "heated_by", "demand"), rows)
    return "demand"


def write_texts(path: Path) -> str:
    """Short opinions; returns the name of the target."""
    rows = []
    for number in range(ROWS):
        liked = chance("liked", number) < 0.5
        words = _GOOD if liked == (chance("slip", number) < 0.9) else _BAD
        first, second = (words[int(len(words) * chance(place, number))] for place in ("first", "second"))
        thing = _THINGS[int(len(_THINGS) * chance("thing", number))]
        filler = _FILLERS[int(len(_FILLERS) * chance("filler", number))]
        rows.append((f"The {thing} was {first} and {second}, {filler}, after {number} days", "yes" if liked else "no"))
    _write(path, ("opinion", "liked"), rows)
    return "liked"


def write_images(folder: Path) -> str:
    """Grey images of simple shapes under noise; returns the name of the target, a column of ``labels.csv``."""
    import numpy as np  # 100 ms that only this template needs

    down, right = np.mgrid[:SIDE, :SIDE]
    images, labels = [], []
    for number in range(ROWS):
        shape = SHAPES[int(len(SHAPES) * chance("shape", number))]
        top, left = (5 + int(6 * chance(place, number)) for place in ("top", "left"))
        size = 2 + int(3 * chance("size", number))
        away = np.maximum(abs(down - top), abs(right - left))
        drawn = {
            "disc": (down - top) ** 2 + (right - left) ** 2 <= size**2,
            "frame": away == size,
            "cross": ((down == top) | (right == left)) & (away <= size),
        }[shape]
        seed = hashlib.shake_256(f"noise {number}".encode()).digest(SIDE * SIDE)
        noise = np.frombuffer(seed, dtype=np.uint8).reshape(SIDE, SIDE) // 2
        images.append((noise + 100 * drawn).astype(np.uint8))
        labels.append((shape,))
    np.save(folder / "images.npy", np.stack(images))
    _write(folder / "labels.csv", ("shape",), labels)
    return "shape"


def _write(path: Path, header: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(header)
        writer.writerows(rows)
