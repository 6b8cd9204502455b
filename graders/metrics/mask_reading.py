"""What metrics of masks share: the parameters that say how masks are written, and reading answers and submissions."""

from __future__ import annotations

import re
from functools import partial
from typing import TYPE_CHECKING, Annotated

import numpy as np

from openmle_env.errors import PackError
from openmle_env.graders.metrics.examples import Trial
from openmle_env.graders.metrics.parameters import AnswerColumn, Option
from openmle_env.graders.metrics.run_length import Order, Runs, overlaps, read_masks
from openmle_env.graders.rows import Array

if TYPE_CHECKING:
    from collections.abc import Iterator

Shape = Annotated[str, Option("Height and width of every image in pixels, such as 101x101, where all are of one size.")]
Height = Annotated[
    Array | None, AnswerColumn("Height of each image in pixels, where the sizes differ.", kind="integer")
]
Width = Annotated[Array | None, AnswerColumn("Width of each image in pixels, where the sizes differ.", kind="integer")]
Scan = Annotated[
    Order,
    Option(
        "How pixels are counted, in answers and submissions alike: down the columns of an image, or along its rows."
    ),
]
Start = Annotated[int, Option("The number of the first pixel.", low=0, high=1)]
MAX_PIXELS = 1 << 62
"""Of all images together."""

_SHAPE = re.compile(r"\s*([1-9][0-9]{0,8})\s*[xX]\s*([1-9][0-9]{0,8})\s*")

SMALL = {"shape": "2x3"}
SIZES = {"height": "height", "width": "width"}
"""Parameters of worked examples: one size, or a column for each side."""
IMAGES = ("1 10", "", "5 8", "3 4 40 6")
TRIAL = Trial(
    truth=IMAGES,
    perfect=IMAGES,
    noisy=("1 9", "", "5 6", "3 4 41 6"),
    constant=("20 5",) * 4,
    parameters={"shape": "10x10"},
)

FORM = (
    "Masks are pairs 'start length' separated by blanks; an empty cell is an empty mask. Parameters say the images' "
    "size, the scan order and the number of the first pixel. Run lengths are sets of pixels, so that any order of runs "
    "gives the same score, and so does any scan order, as long as answers and submissions use the same."
)


def image_pixels(count: int, shape: str, height: Array | None, width: Array | None) -> Array:
    """How many pixels each of ``count`` images has, int64.

    Raises:
        PackError: The parameters do not say, or a size is not positive, or the images are too large together.
    """
    if height is not None and width is not None and not shape:
        if height.min(initial=1) < 1 or width.min(initial=1) < 1:
            raise PackError("The heights and widths of images must be at least 1 pixel; correct the answers.")
        # Multiplied as floats first: the product of two large integers wraps around.
        total = float((height.astype(np.float64) * width).sum())
        pixels = height * width
    elif shape and height is None and width is None:
        found = _SHAPE.fullmatch(shape)
        if found is None:
            raise PackError(f"The parameter shape={shape!r} is not HEIGHTxWIDTH in pixels, such as 101x101.")
        size = int(found[1]) * int(found[2])
        total = float(size) * count
        pixels = np.full(count, size, dtype=np.int64)
    else:
        raise PackError(
            "A metric of masks needs the size of the images. Give either the parameter shape, such as shape=101x101, "
            "or both height and width, the names of two columns of the answers."
        )
    if total >= MAX_PIXELS:
        raise PackError(f"The images have {total:.1e} pixels together; at most {float(MAX_PIXELS):.1e} can be counted.")
    return pixels


def check_masks(
    predicted: Array, *, shape: str, height: Array | None, width: Array | None, start: int, several: bool = False
) -> Iterator[tuple[int, str]]:
    """The position of each text that is no mask, and why; the parameters are those of the metrics.

    Raises:
        PackError: As for `image_pixels`.
    """
    pixels = image_pixels(len(predicted), shape, height, width)
    _, faults = read_masks(predicted, pixels, start=start, several=several)
    for position, fault in faults.items():
        yield position, str(fault)


check_instances = partial(check_masks, several=True)
"""The same, for several masks in each text."""


def read_both(truth: Array, predicted: Array, pixels: Array, start: int, *, several: bool = False) -> tuple[Runs, Runs]:
    """The masks of the answers and of the submission.

    Raises:
        PackError: A mask of the answers has not the form.
        ValueError: A mask of the submission has not, which the check refuses before.
    """
    true, faults = read_masks(truth, pixels, start=start, several=several)
    if faults:
        position, fault = next(iter(faults.items()))
        raise PackError(
            f"{len(faults):,} of {len(truth):,} masks of the answers cannot be read, such as that of row {position}: "
            f"{fault.rule}. Correct them, or the parameters shape, height, width and start."
        )
    found, faults = read_masks(predicted, pixels, start=start, several=several)
    if faults:
        raise ValueError(f"{len(faults):,} predicted masks cannot be read; ask for the problems first.")
    return true, found


def shared_pixels(true: Runs, found: Runs) -> Array:
    """Pixels of each image that are in both masks."""
    at, _, pixels = overlaps(true, found)
    shared = np.zeros(len(true.image), dtype=np.int64)
    np.add.at(shared, true.mask[at], pixels)
    return shared
