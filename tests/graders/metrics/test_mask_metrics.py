from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from openmle_env.errors import PackError
from openmle_env.graders import metrics
from openmle_env.graders.metrics import Golden
from openmle_env.graders.metrics.run_length import Order, encode
from openmle_env.types import ResultStatus

THRESHOLDS = [0.5 + 0.05 * step for step in range(10)]


def value(name: str, truth: list[str], predicted: list[str], **parameters: object) -> float:
    answers = {name: parameters.pop(name) for name in ("height", "width") if name in parameters}
    parameters |= {name: name for name in answers}
    used, true, rows = metrics.get(name).example(
        Golden(truth=truth, predicted=predicted, score=0, parameters=parameters, answers=answers)  # type: ignore[arg-type]
    )
    assert not used.problems(rows, true)
    return used(true, rows)


def fbeta(true: np.ndarray, found: np.ndarray, beta: float, empty: float) -> float:
    below = beta**2 * true.sum() + found.sum()
    return (1 + beta**2) * (true & found).sum() / below if below else empty


PAIRS = st.lists(
    st.tuples(st.integers(1, 4), st.integers(1, 4)).flatmap(
        lambda shape: st.tuples(arrays(bool, shape), arrays(bool, shape))
    ),
    min_size=1,
    max_size=4,
)


@given(
    pairs=PAIRS, order=st.sampled_from(["column", "row"]), start=st.integers(0, 1), empty=st.sampled_from([0, 0.5, 1])
)
def test_runs_score_as_pixels(
    pairs: list[tuple[np.ndarray, np.ndarray]], order: Order, start: int, empty: float
) -> None:
    truth = [encode(true, order=order, start=start) for true, _ in pairs]
    predicted = [encode(found, order=order, start=start) for _, found in pairs]
    rest = {
        "height": [true.shape[0] for true, _ in pairs],
        "width": [true.shape[1] for true, _ in pairs],
        "order": order,
        "start": start,
    }
    all_true = np.concatenate([true.ravel() for true, _ in pairs])
    all_found = np.concatenate([found.ravel() for _, found in pairs])

    def iou(true: np.ndarray, found: np.ndarray) -> float:
        return (true & found).sum() / (true | found).sum() if (true | found).any() else empty

    assert value("dice", truth, predicted, **rest, empty=empty) == pytest.approx(
        np.mean([fbeta(true, found, 1, empty) for true, found in pairs])
    )
    assert value("dice", truth, predicted, **rest, empty=empty, average="global") == pytest.approx(
        fbeta(all_true, all_found, 1, empty)
    )
    assert value("iou", truth, predicted, **rest, empty=empty) == pytest.approx(np.mean([iou(*pair) for pair in pairs]))
    assert value("iou", truth, predicted, **rest, empty=empty, average="global") == pytest.approx(
        iou(all_true, all_found)
    )
    assert value("pixel_fbeta", truth, predicted, **rest, empty=empty, beta=0.5) == pytest.approx(
        fbeta(all_true, all_found, 0.5, empty)
    )
    assert value("pixel_fbeta", truth, predicted, **rest, empty=empty, beta=2, average="mean") == pytest.approx(
        np.mean([fbeta(true, found, 2, empty) for true, found in pairs])
    )
    empty = 1  # of map_iou
    # The thresholds are rounded, since 0.5 + 0.05 * 2 is a little more than 0.6.
    over = [[iou(*pair) > round(threshold, 2) for threshold in THRESHOLDS] for pair in pairs]
    assert value("map_iou", truth, predicted, **rest) == pytest.approx(np.mean(over))


SCENES = arrays(np.int8, (3, 5), elements=st.integers(0, 3))


@given(true=SCENES, found=SCENES)
def test_objects_score_as_their_pixels(true: np.ndarray, found: np.ndarray) -> None:
    def write(scene: np.ndarray) -> str:
        return ";".join(encode(scene == label) for label in (3, 1, 2) if (scene == label).any())

    ious = {
        (one, other): ((true == one) & (found == other)).sum() / ((true == one) | (found == other)).sum()
        for one in set(true.flat) - {0}
        for other in set(found.flat) - {0}
    }
    objects = len(set(true.flat) - {0}) + len(set(found.flat) - {0})
    expected = []
    for threshold in THRESHOLDS:
        hits = sum(iou > round(threshold, 2) for iou in ious.values())
        expected.append(hits / (objects - hits) if objects else 1.0)
    assert value("instance_map_iou", [write(true)], [write(found)], shape="3x5") == pytest.approx(np.mean(expected))
    # One more image, without objects, of which none is predicted.
    assert value("instance_map_iou", ["", write(true)], ["", write(found)], shape="3x5") == pytest.approx(
        (1 + np.mean(expected)) / 2
    )


@pytest.mark.parametrize("name", ["dice", "iou", "pixel_fbeta", "map_iou", "instance_map_iou"])
def test_a_mask_that_cannot_be_read_is_refused_with_its_id(name: str) -> None:
    golden = Golden(
        truth=("1 1", "2 2", "3 1", ""), predicted=("1 4", "2 2 9", "", "6 2"), score=0, parameters={"shape": "2x3"}
    )
    used, truth, predicted = metrics.get(name).example(golden)
    (problem,) = used.problems(predicted, truth)
    assert (problem.code, problem.count) == ("wrong_form", 2)
    assert problem.examples == (
        "id '1': an odd number of fields: 3",
        "id '3': a run beyond the last pixel of the image: '6 2'",
    )


@pytest.mark.parametrize("name", ["dice", "iou", "pixel_fbeta", "map_iou", "instance_map_iou"])
def test_each_image_has_its_own_size(name: str) -> None:
    golden = Golden(
        truth=("1 1", "1 1"),
        predicted=("6 1", "6 1"),
        score=0,
        parameters={"height": "h", "width": "w"},
        answers={"h": (2, 1), "w": (3, 5)},
    )
    used, truth, predicted = metrics.get(name).example(golden)
    (problem,) = used.problems(predicted, truth)
    assert problem.examples == ("id '1': a run beyond the last pixel of the image: '6 1'",)


@pytest.mark.parametrize("name", ["dice", "instance_map_iou"])
@pytest.mark.parametrize(
    ("parameters", "height", "expected"),
    [
        ({}, 2, "needs the size of the images"),
        ({"height": "h"}, 2, "needs the size of the images"),
        ({"shape": "2x3", "height": "h", "width": "w"}, 2, "needs the size of the images"),
        ({"shape": "2 by 3"}, 2, "'2 by 3' is not HEIGHTxWIDTH"),
        ({"shape": "0x3"}, 2, "is not HEIGHTxWIDTH"),
        ({"shape": "999999999x999999999"}, 2, None),
        ({"height": "h", "width": "w"}, 0, "at least 1 pixel"),
        ({"height": "h", "width": "w"}, 1 << 62, "pixels together"),
    ],
)
def test_the_size_of_images_is_the_tasks(
    name: str, parameters: dict[str, str], height: int, expected: str | None
) -> None:
    golden = Golden(
        truth=("1 1",), predicted=("1 1",), score=1, parameters=parameters, answers={"h": (height,), "w": (3,)}
    )
    used, truth, predicted = metrics.get(name).example(golden)
    if expected is None:
        assert used(truth, predicted) == 1.0
        return
    for compute in (used, lambda truth, predicted: used.problems(predicted, truth)):
        with pytest.raises(PackError, match=expected):
            compute(truth, predicted)


def test_answers_that_are_no_mask_are_the_tasks_fault_and_are_not_quoted() -> None:
    golden = Golden(truth=("1 1", "4 3 4 1"), predicted=("1 1", ""), score=0, parameters={"shape": "10x10"})
    used, truth, predicted = metrics.get("dice").example(golden)
    assert not used.problems(predicted, truth)
    with pytest.raises(PackError, match="1 of 2 masks of the answers cannot be read, such as that of row 1") as caught:
        used(truth, predicted)
    assert "4" not in str(caught.value)
    scored = used.score(truth, predicted, [0, 1])
    assert scored.status is ResultStatus.METRIC_OR_ANSWER_MISSING


def test_masks_of_an_image_of_ten_billion_pixels() -> None:
    # 10^10 pixels: two thirds of them are shared.
    truth, predicted = ["1 8000000000"], ["2000000001 8000000000"]
    assert value("dice", truth, predicted, shape="100000x100000") == pytest.approx(0.75)
    assert value("iou", truth, predicted, shape="100000x100000") == pytest.approx(0.6)


# The functions of MLE-bench's competitions for 2 x 3 pixels, with the values that it gives (MIT licence).
PEER = [
    ("111100", "111000", 0.5),
    ("110000", "001100", 0.0),
    ("000000", "000000", 1.0),
    ("000000", "100000", 0.0),
    ("111111", "111111", 1.0),
    ("111110", "000000", 0.7),  # a fault of the peer: the right value is 0
    ("100000", "000000", 0.0),
]


@pytest.mark.parametrize(("true", "found", "peer"), PEER)
def test_average_precision_of_a_peer(true: str, found: str, peer: float) -> None:
    truth, predicted = (encode(np.array(list(mask)).astype(int).reshape(2, 3)) for mask in (true, found))
    assert value("map_iou", [truth], [predicted], shape="2x3", compat="mlebench") == pytest.approx(peer)
    right = 0.0 if peer == 0.7 else peer
    assert value("map_iou", [truth], [predicted], shape="2x3") == pytest.approx(right)
