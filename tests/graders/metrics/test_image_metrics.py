from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from openmle_env.errors import PackError, UnknownNameError
from openmle_env.graders import metrics
from openmle_env.graders.metrics import Golden, images
from openmle_env.types import ResultStatus

Image = np.ndarray


def similarity(truth: list[Image], predicted: list[Image], *, peak: float = 1.0, shuffle: int = 0) -> float:
    """The metric's value, its rows in random order."""
    rows = [(page, row, column) for page, image in enumerate(truth) for row, column in np.ndindex(image.shape)]
    np.random.default_rng(shuffle).shuffle(rows)
    golden = Golden(
        truth=[float(truth[page][row, column]) for page, row, column in rows],
        predicted=[float(predicted[page][row, column]) for page, row, column in rows],
        score=0,
        parameters={"row": "r", "column": "c", "image": "page", "peak": peak},
        answers={
            "page": [f"p{page}" for page, _, _ in rows],
            "r": [row + 7 for _, row, _ in rows],
            "c": [column - 7 for _, _, column in rows],
        },
    )
    used, true, found = metrics.get("ssim").example(golden)
    return used(true, found)


def slow_similarity(truth: Image, predicted: Image, peak: float) -> float:
    """Window by window, as Wang et al. 2004 write it."""
    line = [math.exp(-((at - 5) ** 2) / (2 * 1.5**2)) for at in range(11)]
    weights = np.array([[a * b for b in line] for a in line])
    weights /= weights.sum()
    values = []
    for row in range(truth.shape[0] - 10):
        for column in range(truth.shape[1] - 10):
            x, y = (image[row : row + 11, column : column + 11] for image in (truth, predicted))
            mx, my = (weights * x).sum(), (weights * y).sum()
            vx, vy = (weights * (x - mx) ** 2).sum(), (weights * (y - my) ** 2).sum()
            shared = (weights * (x - mx) * (y - my)).sum()
            one, two = (0.01 * peak) ** 2, (0.03 * peak) ** 2
            values.append((2 * mx * my + one) * (2 * shared + two) / ((mx**2 + my**2 + one) * (vx + vy + two)))
    return float(np.mean(values))


@pytest.mark.parametrize("peak", [1.0, 255.0])
@pytest.mark.parametrize("at_once", [1, 400, 1 << 20])
def test_similarity_window_by_window(peak: float, at_once: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(images, "PIXELS_AT_ONCE", at_once)
    random = np.random.default_rng(0)
    shapes = [(11, 11), (14, 17), (12, 11), (14, 17), (11, 12), (14, 17)]
    truth = [random.random(shape) * peak for shape in shapes]
    predicted = [image + random.normal(size=image.shape) * 0.2 * peak for image in truth]
    expected = [slow_similarity(*pair, peak) for pair in zip(truth, predicted, strict=True)]
    assert similarity(truth, predicted, peak=peak) == pytest.approx(np.mean(expected), rel=1e-9)


def test_similarity_knows_directions() -> None:
    # The same values, mirrored: rows and columns must not be taken for each other.
    ramp = np.add.outer(np.arange(12) / 12, np.zeros(15))
    assert similarity([ramp], [ramp]) == 1.0
    assert similarity([ramp], [ramp[::-1]]) == pytest.approx(slow_similarity(ramp, ramp[::-1], 1.0))
    assert similarity([ramp], [ramp[::-1]]) < 0.5


@given(size=st.floats(-1e100, 1e100), seed=st.integers(0, 9))
def test_similarity_is_finite_for_any_prediction(size: float, seed: int) -> None:
    random = np.random.default_rng(seed)
    truth = random.random((12, 12))
    predicted = random.random((12, 12)) * size
    predicted[:, 6:] = size
    assert -1 <= similarity([truth], [predicted]) <= 1


def test_large_levels_leave_no_rounding() -> None:
    # Where variances were differences of squares, 1e8 squared would leave nothing of a variance of 1e-4.
    wave = np.add.outer(np.arange(11) % 2, np.arange(11) % 2) / 100
    assert similarity([wave + 1e8], [wave + 1e8]) == 1.0
    assert similarity([wave + 1e8], [wave[::-1] + 1e8]) == pytest.approx(
        slow_similarity(wave + 1e8, wave[::-1] + 1e8, 1.0), abs=1e-6
    )


SQUARE = {"r": [row for row in range(11) for _ in range(11)], "c": [column for _ in range(11) for column in range(11)]}


def places(**changes: list[int]) -> dict[str, list[int]]:
    return {**SQUARE, **changes}


@pytest.mark.parametrize(
    ("answers", "why"),
    [
        (places(c=[*SQUARE["c"][:-1], 0]), "not each pixel of a rectangle once"),
        (places(c=[*SQUARE["c"][:-1], 11]), "not each pixel of a rectangle once"),
        (places(r=[*SQUARE["r"][:-1], 1 << 62]), "not each pixel of a rectangle once"),
        (places(r=[-(1 << 62), *SQUARE["r"][1:-1], 1 << 62]), "not each pixel of a rectangle once"),
        (places(r=[0] * 121, c=list(range(121))), "at least 11 x 11 pixels"),
        (places(r=list(range(121)), c=[3] * 121), "at least 11 x 11 pixels"),
    ],
)
def test_pixels_that_are_no_image_are_the_tasks_fault(answers: dict[str, list[int]], why: str) -> None:
    golden = Golden(
        truth=[0.5] * 121, predicted=[0.5] * 121, score=0, parameters={"row": "r", "column": "c"}, answers=answers
    )
    used, truth, predicted = metrics.get("ssim").example(golden)
    with pytest.raises(PackError, match=why):
        used(truth, predicted)


def test_a_part_of_an_image_is_the_tasks_fault() -> None:
    golden = Golden(
        truth=[0.5] * 121, predicted=[0.5] * 121, score=0, parameters={"row": "r", "column": "c"}, answers=SQUARE
    )
    used, truth, predicted = metrics.get("ssim").example(golden)
    assert used.score(truth, predicted, range(121)).score == 1.0
    scored = used.score(truth, predicted, range(0, 121, 2))
    assert scored.status is ResultStatus.METRIC_OR_ANSWER_MISSING


def test_similarity_needs_the_places_of_pixels() -> None:
    golden = Golden(truth=[0.5], predicted=[0.5], score=0, parameters={"row": "r"}, answers={"r": [0]})
    with pytest.raises(PackError, match="needs the parameter column"):
        metrics.get("ssim").example(golden)


def noise_ratio(truth: list[float], predicted: list[float], **parameters: object) -> float:
    used, true, found = metrics.get("psnr").example(
        Golden(truth=truth, predicted=predicted, score=0, parameters=parameters)
    )
    return used(true, found)


def test_the_noise_ratio_has_a_limit_but_no_floor() -> None:
    assert noise_ratio([0.5], [0.5]) == 100.0
    assert noise_ratio([0.5], [0.5 + 1e-9]) == 100.0
    assert noise_ratio([0.0], [1e-200]) == 100.0  # its square is 0
    assert noise_ratio([0.5], [0.5], limit=48.13) == 48.13
    assert noise_ratio([0.0], [1e100]) == pytest.approx(-2000.0)
    with pytest.raises(OverflowError):
        noise_ratio([0.0], [1e200])


def test_the_noise_ratio_of_images_and_of_their_pixels_together() -> None:
    truth, predicted = [0.0] * 4, [0.1, 0.1, 0.1, 1.0]
    assert noise_ratio(truth, predicted) == pytest.approx(10 * math.log10(4 / 1.03))
    golden = Golden(
        truth=truth, predicted=predicted, score=0, parameters={"image": "page"}, answers={"page": ["a", "a", "a", "b"]}
    )
    used, true, found = metrics.get("psnr").example(golden)
    assert used(true, found) == pytest.approx((20 + 0) / 2)


def test_the_name_of_another_similarity_is_no_name_of_ours() -> None:
    # scikit-image's function of this name has a flat window of 7 x 7 pixels and sample statistics, as it stands.
    with pytest.raises(UnknownNameError):
        metrics.get("structural_similarity")
