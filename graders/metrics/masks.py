"""Metrics of the pixels of masks, which are written as run lengths: Dice, Jaccard, F-beta."""

from __future__ import annotations

from typing import Annotated, Literal

import numpy as np

from openmle_env.graders.metrics.examples import Golden
from openmle_env.graders.metrics.mask_reading import (
    FORM,
    SIZES,
    SMALL,
    TRIAL,
    Height,
    Scan,
    Shape,
    Start,
    Width,
    check_masks,
    image_pixels,
    read_both,
    shared_pixels,
)
from openmle_env.graders.metrics.parameters import Option
from openmle_env.graders.metrics.registry import metric
from openmle_env.graders.rows import Array

Average = Annotated[
    Literal["mean", "global"], Option("The mean over images, or one value over the pixels of all images.")
]
Empty = Annotated[float, Option("The value where neither truth nor prediction has a pixel.", low=0, high=1)]


def _mean_ratio(above: Array, below: Array, average: Literal["mean", "global"], empty: float) -> float:
    """The ratios' mean, or the ratio of the sums; 0/0 is ``empty``."""
    if average == "global":
        above, below = above.sum(keepdims=True), below.sum(keepdims=True)
    values = np.full(len(below), float(empty))
    np.divide(above, below, out=values, where=below > 0)
    return float(values.mean())


@metric(
    higher_is_better=True,
    range=(0.0, 1.0),
    kinds=("text",),
    truth="text",
    source="Dice's coefficient 2 |T and P| / (|T| + |P|) of the pixels T and P of two masks (Dice 1945), "
    "the mean over images or of all pixels together. " + FORM,
    degenerate="Empty against empty is the parameter empty, 1 by default; only one of both empty is 0. "
    "The mean is over all images.",
    golden=(
        Golden(
            truth=("1 4", "6 2"),
            predicted=("1 4", "6 1"),
            score=(1 + 2 / 3) / 2,
            answers={"height": (4, 4), "width": (4, 4)},
            parameters=SIZES,
            note="Of two pixels one is found: 2 * 1 / (2 + 1).",
        ),
        Golden(truth=("1 4", "6 2"), predicted=("1 4", ""), score=0.5, parameters={"shape": "4x4"}),
        Golden(
            truth=("1 4", "6 2"),
            predicted=("1 4", "6 1"),
            score=10 / 11,
            parameters={"shape": "4x4", "average": "global"},
            note="2 * 5 / (6 + 5).",
        ),
        Golden(truth=("", ""), predicted=("", "1 1"), score=0.5, parameters=SMALL, note="The first is 1, the other 0."),
        Golden(truth=("", ""), predicted=("", "1 1"), score=0.0, parameters={**SMALL, "empty": 0}),
        Golden(truth=("",), predicted=("",), score=1.0, parameters={**SMALL, "average": "global"}),
        Golden(truth=("1 2",), predicted=("2 1 6 1",), score=0.5, parameters=SMALL, note="The last pixel is legal."),
        Golden(truth=("0 2",), predicted=("5 1 1 1",), score=0.5, parameters={**SMALL, "start": 0, "order": "row"}),
    ),
    trial=TRIAL,
    check=check_masks,
    aliases={
        "dice_coefficient": {},
        "dice_mean_per_image": {},
        "dice_global": {"average": "global"},
    },
)
def dice(
    truth: Array,
    predicted: Array,
    *,
    shape: Shape = "",
    height: Height = None,
    width: Width = None,
    order: Scan = "column",
    start: Start = 1,
    average: Average = "mean",
    empty: Empty = 1.0,
) -> float:
    """Twice the shared pixels of two masks over the pixels of both."""
    del order  # both sides use the same, so that the sets of pixels are compared either way
    true, found = read_both(truth, predicted, image_pixels(len(truth), shape, height, width), start)
    return _mean_ratio(2 * shared_pixels(true, found), true.areas() + found.areas(), average, empty)


@metric(
    higher_is_better=True,
    range=(0.0, 1.0),
    kinds=("text",),
    truth="text",
    source="Jaccard's index |T and P| / |T or P| of the pixels T and P of two masks (intersection over union; Jaccard "
    "1912), the mean over images or of all pixels together. " + FORM,
    degenerate="Empty against empty is the parameter empty, 1 by default; only one of both empty is 0. "
    "The mean is over all images.",
    golden=(
        Golden(truth=("1 4", "6 2"), predicted=("1 4", "6 1"), score=0.75, parameters={"shape": "4x4"}),
        Golden(
            truth=("1 4", "6 2"),
            predicted=("1 4", "6 1"),
            score=5 / 6,
            parameters={"shape": "4x4", "average": "global"},
        ),
        Golden(
            truth=("1 2", "1 2"),
            predicted=("2 2", "3 2"),
            score=1 / 6,
            parameters=SIZES,
            answers={"height": (1, 2), "width": (3, 2)},
        ),
        Golden(truth=("", "1 1"), predicted=("", ""), score=0.5, parameters=SMALL),
        Golden(truth=("", "1 1"), predicted=("", ""), score=0.0, parameters={**SMALL, "empty": 0}),
        Golden(truth=("0 1",), predicted=("0 1 5 1",), score=0.5, parameters={**SMALL, "start": 0, "order": "row"}),
    ),
    trial=TRIAL,
    check=check_masks,
    aliases={"mask_iou": {}, "mask_jaccard": {}, "iou_global": {"average": "global"}},
)
def iou(
    truth: Array,
    predicted: Array,
    *,
    shape: Shape = "",
    height: Height = None,
    width: Width = None,
    order: Scan = "column",
    start: Start = 1,
    average: Average = "mean",
    empty: Empty = 1.0,
) -> float:
    """Shared pixels of two masks over the pixels that are in either."""
    del order  # as for dice
    true, found = read_both(truth, predicted, image_pixels(len(truth), shape, height, width), start)
    shared = shared_pixels(true, found)
    return _mean_ratio(shared, true.areas() + found.areas() - shared, average, empty)


@metric(
    higher_is_better=True,
    range=(0.0, 1.0),
    kinds=("text",),
    truth="text",
    source="F-beta of pixels, (1 + b^2) TP / ((1 + b^2) TP + b^2 FN + FP) (van Rijsbergen 1979), of all pixels "
    "together or the mean over images; the Vesuvius ink detection competition has b = 0.5 and counts along rows. "
    + FORM,
    degenerate="Empty against empty is the parameter empty, 1 by default; only one of both empty is 0.",
    golden=(
        Golden(
            truth=("3 4",),
            predicted=("1 4",),
            score=0.5,
            parameters={**SIZES, "beta": 0.5, "order": "row"},
            answers={"height": (4,), "width": (4,)},
            note="Precision and recall are both 1/2.",
        ),
        Golden(
            truth=("1 4",),
            predicted=("1 1",),
            score=5 / 8,
            parameters={"shape": "4x4", "beta": 0.5},
            note="TP 1, FN 3, FP 0: 1.25 / (1.25 + 0.75).",
        ),
        Golden(truth=("1 4",), predicted=("1 1",), score=5 / 17, parameters={"shape": "4x4", "beta": 2}),
        Golden(truth=("1 4",), predicted=("1 1",), score=0.4, parameters={"shape": "4x4"}, note="Beta is 1: Dice."),
        Golden(
            truth=("1 4", "1 1"),
            predicted=("1 1", "1 1"),
            score=0.7,
            parameters={"shape": "4x4", "average": "mean"},
        ),
        Golden(truth=("1 4", "1 1"), predicted=("1 1", "1 1"), score=4 / 7, parameters={"shape": "4x4"}),
        Golden(truth=("",), predicted=("",), score=1.0, parameters=SMALL),
        Golden(truth=("",), predicted=("",), score=0.0, parameters={**SMALL, "empty": 0}),
        Golden(truth=("",), predicted=("0 1",), score=0.0, parameters={**SMALL, "start": 0}),
    ),
    trial=TRIAL,
    check=check_masks,
    aliases={"f0.5_pixels": {"beta": 0.5, "order": "row", "average": "mean"}},
)
def pixel_fbeta(
    truth: Array,
    predicted: Array,
    *,
    beta: Annotated[float, Option("Weight of recall against precision.", above=0, high=1000)] = 1.0,
    shape: Shape = "",
    height: Height = None,
    width: Width = None,
    order: Scan = "column",
    start: Start = 1,
    average: Average = "global",
    empty: Empty = 1.0,
) -> float:
    """F-beta of the pixels of a mask."""
    del order  # as for dice
    true, found = read_both(truth, predicted, image_pixels(len(truth), shape, height, width), start)
    return _mean_ratio(
        (1 + beta**2) * shared_pixels(true, found), beta**2 * true.areas() + found.areas(), average, empty
    )
