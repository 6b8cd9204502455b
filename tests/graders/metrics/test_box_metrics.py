from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from openmle_env.errors import PackError, UnknownNameError
from openmle_env.graders import metrics
from openmle_env.graders.metrics import Golden, box_reading

NAMES = ["box_map", "box_map_per_image", "box_f1"]
Box = tuple[str, float, int, int, int, int]
"""Class, confidence, x1, y1, x2, y2."""


def value(name: str, truth: list[str], predicted: list[str], **parameters: object) -> float:
    used, true, rows = metrics.get(name).example(
        Golden(truth=truth, predicted=predicted, score=0, parameters=parameters)
    )
    assert not used.problems(rows, true)
    return used(true, rows)


def overlap(one: Box, other: Box) -> float:
    pixels = [{(x, y) for x in range(box[2], box[4]) for y in range(box[3], box[5])} for box in (one, other)]
    return len(pixels[0] & pixels[1]) / len(pixels[0] | pixels[1])


def matched(truth: list[Box], predicted: list[Box], threshold: float, above: bool) -> list[bool]:
    """Which predictions of an image are hits, one after another."""
    free, hits = set(range(len(truth))), [False] * len(predicted)
    for turn in sorted(range(len(predicted)), key=lambda turn: -predicted[turn][1]):
        near = [(overlap(truth[at], predicted[turn]), -at) for at in sorted(free) if truth[at][0] == predicted[turn][0]]
        best, at = max(near, default=(0.0, 0))
        if best > threshold or (best == threshold and not above):
            free.remove(-at)
            hits[turn] = True
    return hits


def average_precision(truth: list[list[Box]], predicted: list[list[Box]], threshold: float, label: str) -> float:
    kept = [[[box for box in boxes if box[0] == label] for boxes in side] for side in (truth, predicted)]
    count = sum(map(len, kept[0]))
    found = [
        (box[1], hit)
        for true, boxes in zip(*kept, strict=True)
        for box, hit in zip(boxes, matched(true, boxes, threshold, above=False), strict=True)
    ]
    points = []
    for confidence in {confidence for confidence, _ in found}:
        hits = [hit for other, hit in found if other >= confidence]
        points.append((sum(hits) / count, sum(hits) / len(hits)))
    area, before = 0.0, 0.0
    for recall in sorted({recall for recall, _ in points}):
        area += (recall - before) * max(precision for other, precision in points if other >= recall)
        before = recall
    return area


def write(boxes: list[Box], layout: str, *, labels: bool, confidence: bool) -> str:
    fields: list[object] = []
    for label, sure, x1, y1, x2, y2 in boxes:
        fields += [label] if labels else []
        fields += [sure] if confidence else []
        fields += [x1, y1, x2, y2] if layout == "xyxy" else [x1, y1, x2 - x1, y2 - y1]
    return " ".join(map(str, fields))


BOX = st.tuples(
    st.sampled_from("ab"),
    st.sampled_from([0.1, 0.5, 0.9]),
    st.integers(0, 2),
    st.integers(0, 2),
    st.integers(3, 6),
    st.integers(3, 6),
)
IMAGES = st.lists(st.tuples(st.lists(BOX, max_size=3), st.lists(BOX, max_size=4)), min_size=1, max_size=4)


@given(images=IMAGES, layout=st.sampled_from(["xywh", "xyxy"]), labels=st.booleans(), block=st.integers(1, 10))
def test_scores_are_those_of_a_slow_grader(
    images: list[tuple[list[Box], list[Box]]], layout: str, labels: bool, block: int
) -> None:
    if not labels:
        images = [([("a", *box[1:]) for box in true], [("a", *box[1:]) for box in found]) for true, found in images]
    truth, predicted = [true for true, _ in images], [found for _, found in images]
    cells = [write(boxes, layout, labels=labels, confidence=False) for boxes in truth]
    found = [write(boxes, layout, labels=labels, confidence=True) for boxes in predicted]
    thresholds = (0.25, 0.5, 0.75)
    rest = {"layout": layout, "thresholds": thresholds, **({"labels": "b,a"} if labels else {})}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(box_reading, "PAIRS_AT_ONCE", block)

        present = sorted({box[0] for boxes in truth for box in boxes})
        if present:
            expected = [average_precision(truth, predicted, at, label) for at in thresholds for label in present]
            assert value("box_map", cells, found, **rest) == pytest.approx(np.mean(expected))

        single = []
        for true, boxes in images:
            for at in thresholds:
                hits = sum(matched(true, boxes, at, above=True))
                count = len(true) + len(boxes)
                single.append(hits / (count - hits) if count else 1.0)
        assert value("box_map_per_image", cells, found, **rest) == pytest.approx(np.mean(single))

        count = sum(len(true) + len(boxes) for true, boxes in images)
        pooled = [
            2 * sum(sum(matched(*image, at, above=False)) for image in images) / (count or 1) for at in thresholds
        ]
        assert value("box_f1", cells, found, **rest) == pytest.approx(np.mean(pooled) if count else 1.0)


@pytest.mark.parametrize("name", NAMES)
def test_real_coordinates(name: str) -> None:
    truth = ["0.1 0.2 0.3 0.7 1e2 -5.5 10 10"]
    assert value(name, truth, ["1e-3 100 -5.5 1e1 10.0 .5 0.1 0.2 0.3 0.7"]) == 1.0
    assert value(name, ["0.1 0.2 0.4 0.9"], ["0.5 0.1 0.2 0.4 0.9"], layout="xyxy") == 1.0


@pytest.mark.parametrize(
    ("confidences", "expected"), [((0.9, 0.1), 1.0), ((0.1, 0.9), 0.5), ((0.5, 0.5), 0.5), ((-1e300, 1e300), 0.5)]
)
def test_equal_confidences_gain_nothing(confidences: tuple[float, float], expected: float) -> None:
    right, wrong = confidences
    assert value("box_map", ["0 0 1 1"], [f"{right} 0 0 1 1 {wrong} 5 5 1 1"]) == expected
    assert value("box_map", ["0 0 1 1"], [f"{wrong} 5 5 1 1 {right} 0 0 1 1"]) == expected
    assert value("box_map", ["0 0 1 1", ""], [f"{right} 0 0 1 1", f"{wrong} 5 5 1 1"]) == expected


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize(
    ("cell", "why"),
    [
        ("0.5 1 2 3", "each box has 5 fields, 'confidence x y width height': 4"),
        ("0.5 1 2 3 4 5", "each box has 5 fields"),
        ("0.5 1 2 3 x", "not a finite number: 'x'"),
        ("nan 1 2 3 4", "not a finite number: 'nan'"),
        ("0.5 1 2 inf 4", "not a finite number: 'inf'"),
        ("0.5 1 2 1e999 4", "not a finite number: '1e999'"),
        ("0.5 1 2 1_0 4", "not a finite number: '1_0'"),
        ("0.5 1 2 -- 4", "not a finite number: '--'"),
        ("0.5 1 2 \u0663 4", "not a finite number: '\u0663'"),
        ("0.5 1 2 0 4", "a box without area (width and height are above 0): box 1"),
        ("0.5 1 2 3 4 0.5 1 2 3 -4", "a box without area (width and height are above 0): box 2"),
        ("0.5 1 2 1e10 4", "a coordinate beyond 1,000,000,000"),
        ("0.5 1 2 3 " + "y" * 1000, "not a finite number: 'yyy"),
        ("1 0 0 1 1 " * 10_001, "more than 10,000 boxes: 10,001"),
        ("1 " * 1_000_001, "more than 2,000,000 characters: 2,000,002"),
    ],
)
def test_boxes_that_cannot_be_read_are_refused_with_their_id(name: str, cell: str, why: str) -> None:
    used, truth, predicted = metrics.get(name).example(Golden(truth=("1 1 1 1", ""), predicted=("", cell), score=0))
    (problem,) = used.problems(predicted, truth)
    assert problem.count == 1
    (example,) = problem.examples
    assert example.startswith(f"id '1': {why}")
    assert len(example) < 200


@pytest.mark.parametrize(
    ("cell", "why"),
    [
        ("c 1 1 2 3 4", "no class of this task: 'c'"),
        ("1 1 2 3 4 5", "no class of this task: '1'"),
        ("0.5 1 2 3 4", "each box has 6 fields, 'class confidence x1 y1 x2 y2': 5"),
        ("a 1 3 2 3 4", "a box without area (x2 is greater than x1, and y2 than y1): box 1"),
    ],
)
def test_boxes_with_classes_that_cannot_be_read(cell: str, why: str) -> None:
    golden = Golden(truth=("",), predicted=(cell,), score=0, parameters={"labels": "a,b", "layout": "xyxy"})
    used, truth, predicted = metrics.get("box_map").example(golden)
    (problem,) = used.problems(predicted, truth)
    assert problem.examples == (f"id '0': {why}",)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize(
    ("truth", "parameters", "why"),
    [
        ("7 7 7", {}, "boxes of row 1 of the answers cannot be read: each box has 4 fields"),
        ("c 7 7 8 8", {"labels": "a,b"}, "boxes of row 1 of the answers cannot be read: no class of this task"),
        ("a 7 7 8 8", {"labels": "a,a"}, "should name each class once"),
        ("a 7 7 8 8", {"labels": "a,b c"}, "should name each class once"),
    ],
)
def test_faults_of_the_task(name: str, truth: str, parameters: dict[str, object], why: str) -> None:
    golden = Golden(truth=("", truth), predicted=("", ""), score=0, parameters=parameters)
    used, true, predicted = metrics.get(name).example(golden)
    with pytest.raises(PackError, match=why) as caught:
        used(true, predicted)
    assert "7" not in str(caught.value)


@pytest.mark.parametrize("box", ["1e9 1e9 1e-9 1e-9", "0 0 1e-200 1e-200", "1 1 1e-17 5"])
def test_boxes_whose_area_vanishes_in_rounding_have_none(box: str) -> None:
    # Their intersection over union is 0/0, so that a perfect prediction would score 0.
    used, truth, predicted = metrics.get("box_f1").example(Golden(truth=(box,), predicted=(f"1 {box}",), score=0))
    (problem,) = used.problems(predicted, truth)
    assert "a box without area" in problem.message
    with pytest.raises(PackError, match="a box without area"):
        used(truth, predicted)
    smallest = "0 0 5e-324 1"
    assert value("box_f1", [smallest], [f"1 {smallest}"]) == 1.0


@pytest.mark.parametrize("name", ["coco_map", "gwhd_map"])
def test_names_of_other_scores_are_no_names_of_ours(name: str) -> None:
    # COCO's own value is of 101 points and 100 boxes; the GWHD challenge averages accuracies over domains.
    with pytest.raises(UnknownNameError):
        metrics.get(name)


def test_no_box_in_the_answers_leaves_average_precision_undefined() -> None:
    with pytest.raises(PackError, match="hold no box"):
        value("box_map", ["", ""], ["1 0 0 1 1", ""])
