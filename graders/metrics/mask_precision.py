"""Average precision of masks over thresholds of their intersection over union: one mask for an image, or many."""

from __future__ import annotations

from typing import Annotated, Literal

import numpy as np

from openmle_env.graders.metrics.examples import Golden, Trial
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
    check_instances,
    check_masks,
    image_pixels,
    read_both,
    shared_pixels,
)
from openmle_env.graders.metrics.parameters import Option
from openmle_env.graders.metrics.registry import metric
from openmle_env.graders.metrics.run_length import overlaps
from openmle_env.graders.rows import Array

Compatibility = Annotated[
    Literal["", "mlebench"],
    Option("'mlebench' repeats a fault of MLE-bench's: an empty prediction counts as the whole image."),
]
Thresholds = Annotated[
    tuple[float, ...], Option("A hit has an intersection over union greater than this.", low=0, high=1)
]
InstanceThresholds = Annotated[
    tuple[float, ...], Option("A hit has an intersection over union greater than this.", low=0.5, high=1)
]

THRESHOLDS = (0.5, 0.55, 0.6, 0.65, 0.7, 0.75, 0.8, 0.85, 0.9, 0.95)


@metric(
    higher_is_better=True,
    range=(0.0, 1.0),
    kinds=("text",),
    truth="text",
    source="One mask for each image: the mean over images of the share of thresholds t = 0.5, 0.55, ... 0.95 with "
    "intersection over union > t, which is TP / (TP + FP + FN) of one object; as the TGS salt identification "
    "competition defines it. " + FORM,
    degenerate="Empty against empty is 1; only one of both empty is 0. "
    "With compat=mlebench, an empty prediction for a mask that has pixels is scored as if it were the whole image.",
    golden=(
        Golden(
            truth=("1 10", "", "5 8"),
            predicted=("1 10", "", "5 5"),
            score=2.3 / 3,
            parameters={"shape": "101x101"},
            note="The last has 5/8, above 0.5, 0.55 and 0.6.",
        ),
        Golden(
            truth=("1 10", "", "5 8"), predicted=("1 10", "3 4", "5 5"), score=1.3 / 3, parameters={"shape": "101x101"}
        ),
        Golden(
            truth=("1 4", "1 2", "", "", "1 6"),
            predicted=("1 3", "3 2", "", "1 1", "1 6"),
            score=(0.5 + 0 + 1 + 0 + 1) / 5,
            parameters=SMALL,
            note="The first has exactly 0.75, which is not greater than 0.75.",
        ),
        Golden(truth=("1 5", "1 1"), predicted=("", ""), score=0.0, parameters=SMALL),
        Golden(
            truth=("1 5", "1 1"),
            predicted=("", ""),
            score=0.35,
            parameters={**SMALL, "compat": "mlebench"},
            note="5/6, above seven thresholds, and 1/6.",
        ),
        Golden(truth=("", "1 1"), predicted=("", "1 1"), score=1.0, parameters={**SMALL, "compat": "mlebench"}),
        Golden(
            truth=("0 3",),
            predicted=("1 2",),
            score=0.5,
            parameters={**SIZES, "start": 0, "order": "row", "thresholds": (0.5, 0.9)},
            answers={"height": (2,), "width": (3,)},
        ),
    ),
    trial=TRIAL,
    check=check_masks,
    aliases={"map_iou_thresholds": {}},
)
def map_iou(
    truth: Array,
    predicted: Array,
    *,
    shape: Shape = "",
    height: Height = None,
    width: Width = None,
    order: Scan = "column",
    start: Start = 1,
    thresholds: Thresholds = THRESHOLDS,
    compat: Compatibility = "",
) -> float:
    """Share of thresholds that the intersection over union of a mask exceeds, averaged over images."""
    del order  # as for dice
    pixels = image_pixels(len(truth), shape, height, width)
    true, found = read_both(truth, predicted, pixels, start)
    shared, in_truth, in_found = shared_pixels(true, found), true.areas(), found.areas()
    if compat == "mlebench":
        whole = (in_found == 0) & (in_truth > 0)
        shared, in_found = np.where(whole, in_truth, shared), np.where(whole, pixels, in_found)
    union = in_truth + in_found - shared
    # A ratio of integers is the double nearest to it, as a threshold written in decimals is: 3/5 is not above 0.6.
    values = np.divide(shared, union, out=np.zeros(len(union)), where=union > 0)
    hits = np.stack([(values > threshold) | (union == 0) for threshold in thresholds])
    return float(hits.mean())


@metric(
    higher_is_better=True,
    range=(0.0, 1.0),
    kinds=("text",),
    truth="text",
    source="Any number of masks for each image, separated by ';' or '|' in one cell: the mean over images of the mean "
    "over thresholds t = 0.5, 0.55, ... 0.95 of TP / (TP + FP + FN), where a predicted mask is a hit of a true one if "
    "their intersection over union is > t; as the Data Science Bowl 2018 defines it. Masks of one image share no "
    "pixel, so that above 0.5 a mask has one partner at most and no rule of matching is needed. " + FORM,
    degenerate="No mask in truth and prediction is 1; in one of both only, 0. Predicted masks of an image that share a "
    "pixel are refused; such answers are a fault of the task.",
    golden=(
        Golden(
            truth=("1 4; 9 4",),
            predicted=("1 3; 9 4",),
            score=(5 * 1 + 5 / 3) / 10,
            parameters={"shape": "4x4"},
            note="3/4 is a hit at five thresholds; at the others there are one hit, one false alarm and one miss.",
        ),
        Golden(
            truth=("1 2|5 2|9 2",),
            predicted=("9 2; 1 2",),
            score=2 / 3,
            parameters={"shape": "4x4"},
            note="Two of three found; any order.",
        ),
        Golden(truth=("", "1 1", ""), predicted=("", "", "1 1;2 1"), score=1 / 3, parameters=SMALL),
        Golden(
            truth=("1 6",),
            predicted=("1 3;4 3",),
            score=0.0,
            parameters=SMALL,
            note="Half of a mask is not a hit.",
        ),
        Golden(
            truth=("0 3 5 1",),
            predicted=("0 3",),
            score=0.5,
            parameters={**SIZES, "start": 0, "order": "row", "thresholds": (0.5, 0.9)},
            answers={"height": (2,), "width": (3,)},
        ),
    ),
    trial=Trial(
        truth=("1 10; 21 4", "", "5 8; 31 5 41 5", "3 4"),
        perfect=("21 4; 1 10", "", "5 8; 31 5 41 5", "3 4"),
        noisy=("1 8; 21 4", "", "5 8", "3 4"),
        constant=("60 5",) * 4,
        parameters={"shape": "10x10"},
    ),
    check=check_instances,
    aliases={"dsb2018_map": {}},
)
def instance_map_iou(
    truth: Array,
    predicted: Array,
    *,
    shape: Shape = "",
    height: Height = None,
    width: Width = None,
    order: Scan = "column",
    start: Start = 1,
    thresholds: InstanceThresholds = THRESHOLDS,
) -> float:
    """Hits over hits, false alarms and misses of the objects of an image, over thresholds and images."""
    del order  # as for dice
    true, found = read_both(truth, predicted, image_pixels(len(truth), shape, height, width), start, several=True)
    at, by, pixels = overlaps(true, found)
    # Which mask meets which, as one number for each couple.
    couples, which = np.unique(true.mask[at] * (len(found.image) + 1) + found.mask[by], return_inverse=True)
    shared = np.zeros(len(couples), dtype=np.int64)
    np.add.at(shared, which, pixels)
    left, right = np.divmod(couples, len(found.image) + 1)
    values = shared / (true.areas()[left] + found.areas()[right] - shared)
    count = np.bincount(true.image, minlength=len(truth)) + np.bincount(found.image, minlength=len(truth))
    total = 0.0
    for threshold in thresholds:
        hits = np.bincount(true.image[left[values > threshold]], minlength=len(truth))
        parts = count - hits  # hits, false alarms and misses
        total += float(np.divide(hits, parts, out=np.ones(len(parts)), where=parts > 0).mean())
    return total / len(thresholds)
