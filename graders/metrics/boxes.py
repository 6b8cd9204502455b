"""Metrics of predicted boxes: mean average precision, its variant for each image, and the F1 of boxes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import numpy as np

from openmle_env.errors import PackError
from openmle_env.graders.metrics.box_reading import (
    FORM,
    Boxes,
    LabelsOption,
    LayoutOption,
    check_boxes,
    meetings,
    read_boxes,
)
from openmle_env.graders.metrics.examples import Golden, Trial
from openmle_env.graders.metrics.parameters import Option
from openmle_env.graders.metrics.registry import metric
from openmle_env.graders.rows import Array

if TYPE_CHECKING:
    from collections.abc import Iterator

At = Annotated[
    tuple[float, ...], Option("A hit has an intersection over union of at least this.", above=0, low=0, high=1)
]
Above = Annotated[tuple[float, ...], Option("A hit has an intersection over union greater than this.", low=0, high=1)]

COCO_THRESHOLDS = (0.5, 0.55, 0.6, 0.65, 0.7, 0.75, 0.8, 0.85, 0.9, 0.95)
WHEAT_THRESHOLDS = (0.5, 0.55, 0.6, 0.65, 0.7, 0.75)

_MATCHING = (
    "The predicted boxes of an image are taken by falling confidence, equal ones in the order of the cell; each takes "
    "the true box of its class, among those not yet taken, that it meets best, if that is a hit."
)


def _read(truth: Array, predicted: Array, labels: tuple[str, ...], layout: LayoutOption) -> tuple[Boxes, Boxes]:
    return (
        read_boxes(truth, labels, layout, confidence=False),
        read_boxes(predicted, labels, layout, confidence=True),
    )


def _hits(true: Boxes, found: Boxes, thresholds: tuple[float, ...], *, above: bool) -> Iterator[Array]:
    """For each threshold, which predicted boxes are hits, bool of shape (predicted boxes,).

    Args:
        true: True boxes.
        found: Predicted boxes.
        thresholds: Of the intersection over union.
        above: Whether a hit is above the threshold, rather than at it or above it.
    """
    left, right, ratio = meetings(true, found, max(min(thresholds), np.nextafter(0, 1)))
    turn = np.empty(len(found.image), dtype=np.int64)
    turn[np.argsort(-found.confidence, kind="stable")] = np.arange(len(turn))
    order = np.lexsort((left, -ratio, turn[right]))
    left, right, ratio = left[order], right[order], ratio[order]
    for threshold in thresholds:
        near = ratio > threshold if above else ratio >= threshold
        yield _taken_in_turn(left[near], right[near], len(true.image), len(found.image))


def _taken_in_turn(left: Array, right: Array, true: int, found: int) -> Array:
    """Which predicted boxes get a true one, where couples are taken in their order unless either is taken already.

    A couple that comes before all others of both of its boxes is certain to be taken, so that all of these are taken at
    once; then the same is done with the couples that are still free. There are no more rounds than true boxes in an
    image.
    """
    taken, hit = np.zeros(true, dtype=bool), np.zeros(found, dtype=bool)
    first_of_true, first_of_found = np.empty(true, dtype=np.int64), np.empty(found, dtype=np.int64)
    while len(left):
        place = np.arange(len(left))
        first_of_true[left[::-1]] = place[::-1]  # of several, the last that is written stays
        first_of_found[right[::-1]] = place[::-1]
        certain = (first_of_true[left] == place) & (first_of_found[right] == place)
        taken[left[certain]] = hit[right[certain]] = True
        free = ~(taken[left] | hit[right])
        left, right = left[free], right[free]
    return hit


def _average_precision(hit: Array, confidence: Array, count: int) -> float:
    """The area under the curve of precision and recall, whose precision is made to fall; of ``count`` true boxes.

    Boxes of equal confidence are one step of the curve.
    """
    order = np.argsort(-confidence, kind="stable")
    confidence = confidence[order]
    steps = np.flatnonzero(np.append(confidence[1:] != confidence[:-1], True)[: len(order)])
    hits = np.cumsum(hit[order])[steps]
    precision = np.maximum.accumulate((hits / (steps + 1))[::-1])[::-1]
    return float((np.diff(hits, prepend=0) * precision).sum() / count)


_TRUTH = ("10 10 20 20 50 50 10 10", "", "0 0 10 10", "5 5 10 20")
_TRIAL = Trial(
    truth=_TRUTH,
    perfect=("0.9 10 10 20 20 0.8 50 50 10 10", "", "0.9 0 0 10 10", "1 5 5 10 20"),
    noisy=("0.9 10 10 20 20", "", "0.9 0 0 10 8 0.5 40 40 5 5", "1 5 5 10 20"),
    constant=("0.5 0 0 8 8",) * 4,
)


@metric(
    higher_is_better=True,
    range=(0.0, 1.0),
    kinds=("text",),
    truth="text",
    source="Mean average precision over classes and thresholds t = 0.5, 0.55, ... 0.95 as COCO defines it (Lin et al. "
    "2014), with the area under the whole curve (all points, Everingham et al. 2010 as of VOC 2010) instead of 101 "
    "points, and without a limit of 100 boxes or classes of size: boxes of all images are sorted by confidence, and "
    "AP = sum over steps of (recall gained) * (greatest precision at that recall or beyond). "
    + _MATCHING
    + " A hit has an intersection over union >= t. "
    + FORM,
    degenerate="Boxes of equal confidence are one step of the curve, so that ties gain nothing. The mean is over the "
    "classes of the true boxes; predicted boxes of other classes count nothing. No predicted box is 0. Undefined, a "
    "fault of the task, where the answers hold no box at all.",
    golden=(
        Golden(
            truth=("0 0 10 10", "0 0 10 10"),
            predicted=("0.9 0 0 10 10", "0.8 0 0 10 8"),
            score=(7 * 1 + 3 * 0.5) / 10,
            note="The second has 0.8: a hit at the thresholds up to 0.8; AP is then 1, else 1/2.",
        ),
        Golden(
            truth=("0 0 10 10", "0 0 10 10"),
            predicted=("0.9 30 0 10 10 0.8 0 0 10 10", "0.7 0 0 10 10"),
            score=2 / 3,
            note="A false box first: precision is 1/2 and 2/3 at recall 1/2 and 1, of which the greater counts.",
        ),
        Golden(
            truth=("0 0 10 10", "0 0 10 10"),
            predicted=("0.9 0 0 10 10", "0.8 30 0 10 10 0.7 0 0 10 10"),
            score=0.5 + 0.5 * 2 / 3,
        ),
        Golden(
            truth=("0 0 10 10", ""),
            predicted=("0.5 0 0 10 10", "0.5 0 0 10 10"),
            score=0.5,
            note="Equal confidences are one step, whichever stands first.",
        ),
        Golden(
            truth=("0 0 10 10",),
            predicted=("0.9 0 0 10 10 0.8 0 0 10 10",),
            score=1.0,
            note="The second is a false alarm, but no recall is gained after it.",
        ),
        Golden(
            truth=("cat 0 0 10 10 dog 20 0 10 10",),
            predicted=("cat 0.9 0 0 10 10 cat 0.8 20 0 10 10 cow 0.9 20 0 10 10",),
            score=0.5,
            parameters={"labels": "cat,dog,cow"},
            note="1 for cat, 0 for dog; there is no cow.",
        ),
        Golden(
            truth=("5 5 15 15",),
            predicted=("1 5 5 15 10",),
            score=1.0,
            parameters={"layout": "xyxy", "thresholds": "0.5"},
            note="Exactly 0.5 is a hit.",
        ),
        Golden(truth=("0 0 1 1", ""), predicted=("", ""), score=0.0),
    ),
    trial=_TRIAL,
    check=check_boxes,
    alike=False,
    aliases={"map50": {"thresholds": (0.5,)}, "map50_95": {}},
)
def box_map(
    truth: Array,
    predicted: Array,
    *,
    labels: LabelsOption = (),
    layout: LayoutOption = "xywh",
    thresholds: At = COCO_THRESHOLDS,
) -> float:
    """Mean average precision of predicted boxes over classes and thresholds."""
    true, found = _read(truth, predicted, labels, layout)
    wanted, counts = np.unique(true.label, return_counts=True)
    if not len(wanted):
        raise PackError("The answers hold no box, so that average precision is undefined.")
    members = [np.flatnonzero(found.label == label) for label in wanted]
    values = [
        _average_precision(hit[chosen], found.confidence[chosen], count)
        for hit in _hits(true, found, thresholds, above=False)
        for chosen, count in zip(members, counts.tolist(), strict=True)
    ]
    return float(np.mean(values))


@metric(
    higher_is_better=True,
    range=(0.0, 1.0),
    kinds=("text",),
    truth="text",
    source="The mean over images of the mean over thresholds t = 0.5, 0.55, ... 0.75 of TP / (TP + FP + FN), as the "
    "Global Wheat Detection competition of 2020 defines it. "
    + _MATCHING
    + " A hit has an intersection over union > t. Confidences say nothing else. "
    + FORM,
    degenerate="An image without boxes is 1 where none is predicted, else 0.",
    golden=(
        Golden(
            truth=("0 0 10 10",),
            predicted=("0.9 0 0 10 7 0.5 0 0 10 10",),
            score=(4 * 0.5 + 2 * 0.5) / 6,
            note="The first is a hit up to 0.65, and takes the box; above that the second is the hit. "
            "The other is a false alarm.",
        ),
        Golden(truth=("0 0 10 10",), predicted=("0.9 0 0 10 6",), score=2 / 6, note="0.6 is not greater than 0.6."),
        Golden(
            truth=("0 0 10 10 20 20 5 5", "", ""),
            predicted=("1 20 20 5 5", "", "0.1 0 0 1 1"),
            score=(0.5 + 1 + 0) / 3,
        ),
        Golden(
            truth=("a 0 0 10 10 b 5 5 9 9",),
            predicted=("b 1 0 0 10 10 b 1 5 5 9 9",),
            score=1 / 3,
            parameters={"labels": "a,b", "layout": "xyxy", "thresholds": (0.5,)},
            note="The right place in the wrong class is a false alarm and a miss.",
        ),
    ),
    trial=_TRIAL,
    check=check_boxes,
    alike=False,
    aliases={"wheat_map": {}},
)
def box_map_per_image(
    truth: Array,
    predicted: Array,
    *,
    labels: LabelsOption = (),
    layout: LayoutOption = "xywh",
    thresholds: Above = WHEAT_THRESHOLDS,
) -> float:
    """Hits over hits, false alarms and misses of the boxes of an image, over thresholds and images."""
    true, found = _read(truth, predicted, labels, layout)
    count = np.bincount(true.image, minlength=true.images) + np.bincount(found.image, minlength=true.images)
    values = []
    for hit in _hits(true, found, thresholds, above=True):
        hits = np.bincount(found.image[hit], minlength=true.images)
        parts = count - hits  # hits, false alarms and misses
        values.append(np.divide(hits, parts, out=np.ones(len(parts)), where=parts > 0).mean())
    return float(np.mean(values))


@metric(
    higher_is_better=True,
    range=(0.0, 1.0),
    kinds=("text",),
    truth="text",
    source="F1 = 2 TP / (2 TP + FP + FN) of the boxes of all images together, the mean over thresholds. "
    + _MATCHING
    + " A hit has an intersection over union >= the threshold. Confidences say nothing else: write only boxes that you "
    "mean. " + FORM,
    degenerate="No box in truth and prediction is 1; in one of both only, 0.",
    golden=(
        Golden(
            truth=("0 0 10 10 20 20 5 5", ""),
            predicted=("1 20 20 5 5", "0.1 0 0 1 1"),
            score=0.5,
            note="One hit, one false alarm, one miss.",
        ),
        Golden(
            truth=("0 0 10 10",),
            predicted=("1 0 0 10 5",),
            score=0.5,
            parameters={"thresholds": (0.5, 0.75)},
            note="Exactly 0.5 is a hit.",
        ),
        Golden(
            truth=("a 0 0 10 10 b 5 5 9 9",),
            predicted=("b 1 0 0 10 10 b 1 5 5 9 9",),
            score=0.5,
            parameters={"labels": "a,b", "layout": "xyxy"},
        ),
        Golden(truth=("", ""), predicted=("", ""), score=1.0),
        Golden(truth=("", "1 1 1 1"), predicted=("", ""), score=0.0),
    ),
    trial=_TRIAL,
    check=check_boxes,
    alike=False,
    aliases={"f1_at_iou": {}},
)
def box_f1(
    truth: Array,
    predicted: Array,
    *,
    labels: LabelsOption = (),
    layout: LayoutOption = "xywh",
    thresholds: At = (0.5,),
) -> float:
    """F1 of the predicted boxes of all images."""
    true, found = _read(truth, predicted, labels, layout)
    count = len(true.image) + len(found.image)
    if not count:
        return 1.0
    return float(np.mean([2 * int(hit.sum()) / count for hit in _hits(true, found, thresholds, above=False)]))
