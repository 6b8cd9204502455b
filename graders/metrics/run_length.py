"""Run lengths: masks written as text, each run a start and a length; reading, writing and intersecting them.

A mask is pairs "start length" separated by blanks. Its pixels are counted down the columns of the image (``column``,
the usual way) or along its rows (``row``), from 1 or from 0. An empty text is an empty mask; the last pixel is legal.
Runs may stand in any order and may touch. What is no mask: an odd count of fields, a run of length 0, a run that leaves
the image, two runs that share a pixel, and anything but digits.

Everything here works on runs, never on pixels: an image of 100,000 x 100,000 pixels costs what its runs cost.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np

from openmle_env.graders.echo import MAX_SHOWN, show

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from openmle_env.graders.rows import Array

Order = Literal["column", "row"]

MAX_DIGITS = 18
"""Digits of a start or a length, leading zeros included; two such numbers add up without overflow."""

MAX_CHARACTERS = 1 << 24
"""The longest text of one image, so that memory is bounded."""

BLOCK_CHARACTERS = 1 << 22
"""Cells are read in blocks of about this size."""


class RunLengthError(ValueError):
    """A text that is no mask; the message says why."""


@dataclass(frozen=True, slots=True)
class Fault:
    """Why a text is no mask."""

    rule: str
    """The rule that it breaks; holds nothing of the text."""
    found: str
    """What was found, quoted from the text, bounded."""

    def __str__(self) -> str:
        return f"{self.rule}: {self.found}" if self.found else self.rule


@dataclass(frozen=True, slots=True, eq=False)
class Runs:
    """The masks of several images, as intervals of pixels of the images laid end to end, counted from 0.

    The intervals are sorted and share no pixel.
    """

    begin: Array
    """First pixel of each run, int64 of shape (runs,)."""
    end: Array
    """The pixel behind the last one of each run, likewise."""
    mask: Array
    """To which mask each run belongs, likewise."""
    image: Array
    """To which image each mask belongs, int64 of shape (masks,)."""

    def areas(self) -> Array:
        """Pixels of each mask, int64 of shape (masks,)."""
        areas = np.zeros(len(self.image), dtype=np.int64)
        np.add.at(areas, self.mask, self.end - self.begin)
        return areas


def read_masks(
    cells: Sequence[str] | Array, pixels: Array, *, start: int = 1, several: bool = False
) -> tuple[Runs, dict[int, Fault]]:
    """Read one text for each image; returns the masks, and the images whose text cannot be read.

    Those have no runs. Without ``several``, mask i is that of image i; with it, a text holds any number of masks,
    separated by ``;`` or ``|``, of which none is empty and no two share a pixel.

    Args:
        cells: One text for each image.
        pixels: How many pixels each image has, int64 of shape (images,); their sum is below 2**62.
        start: The number of the first pixel, 0 or 1.
        several: Whether a text holds several masks.
    """
    faults: dict[int, Fault] = {}
    offsets = np.cumsum(pixels) - pixels
    nothing = np.zeros(0, dtype=np.int64)
    parts = [(nothing, nothing, nothing, nothing)]
    masks = 0
    for first, cells_read in _blocks(cells):
        block = _Block(cells_read, several)
        begin, end, mask, image = block.read(pixels[first : first + len(cells_read)], start)
        offset = offsets[first + image[mask]]
        parts.append((begin + offset, end + offset, mask + masks, image + first))
        faults |= {first + position: fault for position, fault in block.faults.items()}
        masks += len(image)
    return Runs(*(np.concatenate(arrays) for arrays in zip(*parts, strict=True))), dict(sorted(faults.items()))


def overlaps(one: Runs, other: Runs) -> tuple[Array, Array, Array]:
    """Where runs of two sets meet: positions in ``one``, positions in ``other``, and shared pixels, each (meetings,).

    Both lay the same images end to end. There are fewer meetings than runs.
    """
    first = np.searchsorted(other.end, one.begin, side="right")
    counts = np.maximum(np.searchsorted(other.begin, one.end, side="left") - first, 0)
    left = np.repeat(np.arange(len(counts)), counts)
    right = np.arange(len(left)) - np.repeat(np.cumsum(counts) - counts, counts) + np.repeat(first, counts)
    shared = np.minimum(one.end[left], other.end[right]) - np.maximum(one.begin[left], other.begin[right])
    return left, right, shared


def decode(text: str, height: int, width: int, *, order: Order = "column", start: int = 1) -> Array:
    """The mask as pixels, bool of shape (height, width).

    Raises:
        RunLengthError: The text is no mask of such an image.

    >>> decode("1 2 6 1", 2, 3).astype(int)
    array([[1, 0, 0],
           [1, 0, 1]])
    >>> decode("1 2 6 1", 2, 3, order="row").astype(int)
    array([[1, 1, 0],
           [0, 0, 1]])
    """
    runs, faults = read_masks([text], np.array([height * width]), start=start)
    if faults:
        raise RunLengthError(f"This is no mask of {height} x {width} pixels: {faults[0]}.")
    changes = np.zeros(height * width + 1, dtype=np.int8)
    changes[runs.begin] += 1
    changes[runs.end] -= 1
    flat = np.cumsum(changes[:-1], dtype=np.int8).astype(bool)
    return flat.reshape(height, width) if order == "row" else flat.reshape(width, height).T


def encode(mask: Array, *, order: Order = "column", start: int = 1) -> str:
    """Write a mask of shape (height, width), in which all but 0 belongs to it, as the fewest runs, sorted.

    >>> encode(np.array([[0, 0, 1], [0, 0, 1]]))
    '5 2'
    >>> encode(np.array([[0, 0, 1], [0, 0, 1]]), order="row")
    '3 1 6 1'
    """
    flat = (np.asarray(mask) != 0).ravel(order="C" if order == "row" else "F")
    changes = np.flatnonzero(np.diff(np.concatenate(([False], flat, [False]))))
    begin, end = changes[::2], changes[1::2]
    return " ".join(f"{first} {length}" for first, length in zip(begin + start, end - begin, strict=True))


def _blocks(cells: Sequence[str] | Array) -> Iterator[tuple[int, list[str]]]:
    """Consecutive cells of about `BLOCK_CHARACTERS`, at least one, with the position of the first."""
    block: list[str] = []
    first = size = 0
    for position, cell in enumerate(cells):
        if block and size + len(cell) > BLOCK_CHARACTERS:
            yield first, block
            block, first, size = [], position, 0
        block.append(cell)
        size += len(cell) + 1
    if block:
        yield first, block


class _Block:
    """Consecutive cells while they are read; images and masks are counted from the first of the block."""

    def __init__(self, cells: list[str], several: bool) -> None:
        self.cells = cells
        self.several = several
        self.bad = np.zeros(len(cells), dtype=bool)
        self.faults: dict[int, Fault] = {}
        for image, cell in enumerate(cells):
            if len(cell) > MAX_CHARACTERS:
                self.bad[image] = True
                self.faults[image] = Fault(f"more than {MAX_CHARACTERS:,} characters", f"{len(cell):,}")
                cells[image] = ""

    def refuse(self, images: Array, rule: str, found: Callable[[int], object] = lambda _: "") -> None:
        """Note a fault of each of ``images``, which are in order, where there is none yet.

        ``found`` says what was found at a position of ``images``; the first of each image is asked for.
        """
        first = np.flatnonzero(np.diff(images, prepend=-1))
        for at, image in zip(first.tolist(), images[first].tolist(), strict=True):
            if not self.bad[image]:
                self.bad[image] = True
                self.faults[image] = Fault(rule, str(found(at)))

    def fields(self) -> tuple[Array, Array, Array]:
        """Start and length of each run, (runs, 2), as they are written; its mask; and the image of each mask."""
        sizes = np.fromiter(map(len, self.cells), dtype=np.int64, count=len(self.cells)) + 1
        cell_starts = np.cumsum(sizes) - sizes
        # One byte for each character; what is not ASCII becomes "?", which is as wrong.
        text = np.frombuffer((" ".join(self.cells) + " ").encode("ascii", "replace"), dtype=np.uint8)
        kinds = _KINDS[text]
        strange = np.flatnonzero(np.maximum.reduceat(kinds, cell_starts) > (_SPLIT if self.several else _BLANK))
        words = [self._blank(kinds, int(cell_starts[cell]), cell) for cell in strange.tolist()]
        self.refuse(strange, "starts and lengths are whole numbers, written in digits", words.__getitem__)
        mask_starts = cell_starts
        if self.several:
            mask_starts = np.sort(np.concatenate((cell_starts, np.flatnonzero(kinds == _SPLIT) + 1)))
        image = np.searchsorted(cell_starts, mask_starts, side="right") - 1
        edges = np.flatnonzero(np.diff(kinds == _DIGIT, prepend=False, append=False))
        starts, lengths = edges[::2], edges[1::2] - edges[::2]
        mask = np.searchsorted(mask_starts, starts, side="right") - 1
        count = np.bincount(mask, minlength=len(image))

        empty = (count == 0) & (np.bincount(image)[image] > 1)
        self.refuse(image[empty], "one of several masks is empty")
        odd = np.flatnonzero(count % 2)
        self.refuse(image[odd], "an odd number of fields", lambda at: count[odd[at]])
        long = np.flatnonzero(lengths > MAX_DIGITS)
        self.refuse(image[mask[long]], f"a number of more than {MAX_DIGITS} digits")

        kept = ~self.bad[image[mask]]  # their fields come in pairs
        pairs = _numbers(text, starts[kept], lengths[kept]).reshape(-1, 2)
        mask = mask[kept][::2]
        if self.several:  # a text without a mask is one piece of text all the same
            real = (count > 0) & ~self.bad[image]
            mask, image = (np.cumsum(real) - 1)[mask], image[real]
        return pairs, mask, image

    def read(self, pixels: Array, start: int) -> tuple[Array, Array, Array, Array]:
        """Begin and end in the image, and mask, of each run, sorted by image and begin; and the image of each mask."""
        pairs, mask, image = self.fields()
        begin = pairs[:, 0] - start
        end = begin + pairs[:, 1]
        where = image[mask]
        for rule, broken in (
            ("a run of length 0", end == begin),
            (f"a run before the first pixel, which is {start}", begin < 0),
            ("a run beyond the last pixel of the image", end > pixels[where]),
        ):
            runs = np.flatnonzero(broken)
            self.refuse(where[runs], rule, _run(pairs[runs]))
        kept = np.flatnonzero(~self.bad[where])
        kept = kept[np.lexsort((begin[kept], where[kept]))]
        begin, end, mask, where = begin[kept], end[kept], mask[kept], where[kept]
        # Where any two intervals meet, two that follow each other by their begins do, too.
        met = np.flatnonzero((where[1:] == where[:-1]) & (begin[1:] < end[:-1])) + 1
        self.refuse(where[met], "two runs share a pixel", lambda at: begin[met[at]] + start)
        good = ~self.bad[where]
        return begin[good], end[good], mask[good], image

    def _blank(self, kinds: Array, start: int, image: int) -> str:
        """Forget the text of a cell that holds a strange character; returns the field around the first one, quoted."""
        cell = self.cells[image]
        own = kinds[start : start + len(cell)]
        at = int((own > (_SPLIT if self.several else _BLANK)).argmax())
        own[:] = _BLANK
        before = cell[max(0, at - MAX_SHOWN) : at]
        after = cell[at + 1 : at + MAX_SHOWN]
        separators = r"[\s;|]" if self.several else r"\s"
        return show(re.split(separators, before)[-1] + cell[at] + re.split(separators, after)[0])


_DIGIT, _BLANK, _SPLIT, _STRANGE = range(4)  # in this order: what is beyond a blank, or a split, is strange
_KINDS = np.full(256, _STRANGE, dtype=np.uint8)
_KINDS[list(b"0123456789")] = _DIGIT
_KINDS[list(b" \t\r\n")] = _BLANK
_KINDS[list(b";|")] = _SPLIT


def _run(pairs: Array) -> Callable[[int], str]:
    """Quotes a run."""
    return lambda at: "'{} {}'".format(*pairs[at])


def _numbers(text: Array, starts: Array, lengths: Array) -> Array:
    """The numbers, int64, whose digits stand in ``text`` (ASCII codes) from ``starts`` on."""
    numbers = np.zeros(len(starts), dtype=np.int64)
    for place in range(int(lengths.max(initial=0))):
        inside = np.flatnonzero(lengths > place)
        numbers[inside] = numbers[inside] * 10 + (text[starts[inside] + place] - ord("0"))
    return numbers
