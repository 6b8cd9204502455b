"""How boxes are written in a cell, reading them, and which predicted boxes meet which true ones.

A cell holds any number of boxes, their fields separated by blanks; a blank cell holds none. A box is four numbers:
``x y width height`` or the corners ``x1 y1 x2 y2``. A predicted one has its confidence in front, and where the task
has classes, the class is the first field of all.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Literal

import numpy as np

from openmle_env.errors import PackError
from openmle_env.graders.echo import show
from openmle_env.graders.metrics.parameters import Option

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from openmle_env.graders.rows import Array

Layout = Literal["xywh", "xyxy"]

LayoutOption = Annotated[
    Layout, Option("The four numbers of a box: x, y, width, height, or x1, y1, x2, y2, the corners.")
]
LabelsOption = Annotated[
    tuple[str, ...],
    Option("The names of the classes, of which one is the first field of every box; none, if boxes have no class."),
]

FORM = (
    "A cell holds boxes one after another, fields separated by blanks: 'confidence x y width height' each, in the "
    "answers 'x y width height', and with classes the class first; a blank cell holds none. The intersection over "
    "union is of areas, of real coordinates: a box from 0 to 10 is 10 wide."
)

MAX_BOXES = 10_000
"""Boxes that one cell may hold, so that the work of comparing them with the true ones is bounded."""

MAX_CHARACTERS = 2_000_000
"""Characters that one cell may have."""

MAX_COORDINATE = 1e9
"""Coordinates, widths and heights beyond this are refused: no image is as large."""

PAIRS_AT_ONCE = 1 << 20

_NUMBERS = re.compile(r"[0-9.eE+\- ]*")


class BoxError(ValueError):
    """A cell that does not hold boxes."""

    rule: str
    """What is wrong, without anything of the cell."""

    def __init__(self, rule: str, found: str = "") -> None:
        super().__init__(f"{rule}: {found}" if found else rule)
        self.rule = rule


@dataclass(frozen=True, slots=True, eq=False)
class Boxes:
    """The boxes of several images, in the order of the images and, in one, of the cell."""

    images: int
    """How many images there are."""
    image: Array
    """To which each box belongs, int64 of shape (boxes,)."""
    label: Array
    """Position of its class, likewise; 0 where there are no classes."""
    confidence: Array
    """float64 of shape (boxes,); 0 for true boxes."""
    corners: Array
    """x1, y1, x2, y2, float64 of shape (boxes, 4)."""


def read_cell(cell: str, codes: dict[str, int], layout: Layout, *, confidence: bool) -> tuple[Array, list[int]]:
    """The numbers of the boxes of one cell, (boxes, 4) or, with the confidence in front, (boxes, 5), and their classes.

    The last four are corners.

    Raises:
        BoxError: The cell does not hold boxes.
    """
    if len(cell) > MAX_CHARACTERS:
        raise BoxError(f"more than {MAX_CHARACTERS:,} characters", f"{len(cell):,}")
    fields = cell.split()
    width = 4 + confidence + bool(codes)
    if len(fields) % width:
        raise BoxError(
            f"each box has {width} fields, '{_form(layout, codes, confidence=confidence)}'", f"{len(fields)}"
        )
    if len(fields) > MAX_BOXES * width:
        raise BoxError(f"more than {MAX_BOXES:,} boxes", f"{len(fields) // width:,}")
    label = [0] * (len(fields) // width)
    if codes:
        named = fields[::width]
        unknown = next((name for name in named if name not in codes), None)
        if unknown is not None:
            raise BoxError("no class of this task", show(unknown))
        label = [codes[name] for name in named]
        del fields[::width]
    values = _numbers(fields).reshape(-1, width - bool(codes))
    boxes = values[:, -4:]
    if np.abs(boxes).max(initial=0.0) > MAX_COORDINATE:
        raise BoxError(f"a coordinate beyond {MAX_COORDINATE:,.0f}")
    if layout == "xywh":
        boxes[:, 2:] += boxes[:, :2]
    sides = boxes[:, 2:] - boxes[:, :2]
    thin = (sides <= 0).any(axis=1) | (sides.prod(axis=1) == 0)  # areas can vanish in rounding
    if thin.any():
        rule = "a box without area (width and height are above 0)" if layout == "xywh" else _CORNERS
        raise BoxError(rule, f"box {int(thin.argmax()) + 1}")
    return values, label


_CORNERS = "a box without area (x2 is greater than x1, and y2 than y1)"


def check_boxes(predicted: Array, *, labels: tuple[str, ...], layout: Layout) -> Iterator[tuple[int, str]]:
    """The position of each cell that does not hold predicted boxes, and why."""
    codes = _codes(labels)
    for position, cell in enumerate(predicted):
        try:
            read_cell(cell, codes, layout, confidence=True)
        except BoxError as error:
            yield position, str(error)


def read_boxes(cells: Sequence[str] | Array, labels: tuple[str, ...], layout: Layout, *, confidence: bool) -> Boxes:
    """The boxes of all cells.

    Raises:
        PackError: ``confidence`` is False, so that these are answers, and a cell does not hold boxes.
        BoxError: The same, of predictions, which `check_boxes` refuses before.
    """
    codes = _codes(labels)
    found, counts, label = [np.zeros((0, 4 + confidence))], [], []
    for position, cell in enumerate(cells):
        try:
            values, named = read_cell(cell, codes, layout, confidence=confidence)
        except BoxError as error:
            if confidence:
                raise
            raise PackError(
                f"The boxes of row {position} of the answers cannot be read: {error.rule}. "
                "Correct them, or the parameters labels and layout."
            ) from None
        found.append(values)
        counts.append(len(values))
        label += named
    values = np.concatenate(found)
    return Boxes(
        images=len(counts),
        image=np.repeat(np.arange(len(counts)), counts),
        label=np.array(label, dtype=np.int64),
        confidence=values[:, 0] if confidence else np.zeros(len(values)),
        corners=values[:, -4:],
    )


def meetings(true: Boxes, found: Boxes, least: float) -> tuple[Array, Array, Array]:
    """Couples of a true and a predicted box of one image and class: positions in both, and intersection over union.

    Only those of at least ``least``, which is above 0. Work is the number of such couples; memory is bounded beside
    those that are returned.
    """
    classes = 1 + max(int(true.label.max(initial=0)), int(found.label.max(initial=0)))
    group = true.image * classes + true.label
    by_group = np.argsort(group, kind="stable")
    wanted = found.image * classes + found.label
    first = np.searchsorted(group[by_group], wanted, side="left")
    counts = np.searchsorted(group[by_group], wanted, side="right") - first
    ends = np.cumsum(counts)
    nothing = np.zeros(0, dtype=np.int64)
    parts = [(nothing, nothing, np.zeros(0))]
    done = 0
    while done < len(counts):
        before = int(ends[done - 1]) if done else 0
        upto = max(done + 1, int(np.searchsorted(ends, before + PAIRS_AT_ONCE, side="right")))
        some = counts[done:upto]
        right = np.repeat(np.arange(done, upto), some)
        inside = np.arange(len(right)) - np.repeat(np.cumsum(some) - some, some)
        left = by_group[np.repeat(first[done:upto], some) + inside]
        ratio = _intersection_over_union(true.corners[left], found.corners[right])
        near = ratio >= least
        parts.append((left[near], right[near], ratio[near]))
        done = upto
    left, right, ratio = (np.concatenate(arrays) for arrays in zip(*parts, strict=True))
    return left, right, ratio


def _intersection_over_union(one: Array, other: Array) -> Array:
    sides = np.minimum(one[:, 2:], other[:, 2:]) - np.maximum(one[:, :2], other[:, :2])
    shared = np.maximum(sides, 0.0).prod(axis=1)
    union = (one[:, 2:] - one[:, :2]).prod(axis=1) + (other[:, 2:] - other[:, :2]).prod(axis=1) - shared
    ratio: Array = np.divide(shared, union, out=np.zeros(len(union)), where=union > 0)
    return ratio


def _codes(labels: tuple[str, ...]) -> dict[str, int]:
    codes = {name: code for code, name in enumerate(labels)}
    if len(codes) < len(labels) or any(not name or name.split() != [name] for name in codes):
        raise PackError(
            f"The parameter labels={','.join(labels)!r} should name each class once, without blanks in a name."
        )
    return codes


def _numbers(fields: list[str]) -> Array:
    # float() takes words, underscores and other scripts' digits as well.
    if _NUMBERS.fullmatch(" ".join(fields)):
        try:
            values = np.fromiter(map(float, fields), dtype=np.float64, count=len(fields))
        except ValueError:
            pass
        else:
            if np.isfinite(values).all():
                return values
    raise BoxError("not a finite number", show(next(field for field in fields if not _is_number(field))))


def _is_number(field: str) -> bool:
    try:
        return _NUMBERS.fullmatch(field) is not None and math.isfinite(float(field))
    except ValueError:
        return False


def _form(layout: Layout, codes: dict[str, int], *, confidence: bool) -> str:
    box = "x y width height" if layout == "xywh" else "x1 y1 x2 y2"
    return f"{'class ' if codes else ''}{'confidence ' if confidence else ''}{box}"
