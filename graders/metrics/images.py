"""Metrics of images whose pixels are predicted as numbers: peak signal to noise ratio and structural similarity."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Annotated

import numpy as np

from openmle_env.errors import PackError
from openmle_env.graders.metrics.examples import Golden, Trial
from openmle_env.graders.metrics.parameters import AnswerColumn, Option
from openmle_env.graders.metrics.registry import metric
from openmle_env.graders.metrics.row_means import errors, group_codes, group_means, numbers
from openmle_env.graders.rows import Array

if TYPE_CHECKING:
    from collections.abc import Iterator

Peak = Annotated[
    float, Option("The greatest value that a pixel can have (from 0): 1 or 255, by the task.", low=1e-6, high=1e9)
]
Image = Annotated[
    Array | None, AnswerColumn("The image that each row belongs to; all rows are one, if left out.", "text")
]

WINDOW = 11
SIGMA = 1.5
K1, K2 = 0.01, 0.03
PIXELS_AT_ONCE = 1 << 18


@metric(
    higher_is_better=True,
    range=(-math.inf, math.inf),
    kinds=("number", "probability", "integer"),
    targets="columns",
    source="Peak signal to noise ratio 10 * log10(peak^2 / MSE) in decibel, where MSE is the mean squared error of the "
    "pixels of an image, those of several target columns (colours, or the pixels of a row) together; the mean over "
    "images, or of all rows as one image. Images count alike, whatever their size.",
    degenerate="An image without any error has the parameter limit, 100 dB by default, which no image exceeds. "
    "An image counts with those of its rows that are scored.",
    golden=(
        Golden(truth=(0.0, 1.0), predicted=(0.1, 0.9), score=20.0, note="MSE 0.01."),
        Golden(
            truth=(0, 255),
            predicted=(0, 254),
            score=10 * math.log10(2 * 255**2),
            kind="integer",
            parameters={"peak": 255},
        ),
        Golden(
            truth=(0.0, 0.0, 0.0),
            predicted=(0.1, 0.1, 1.0),
            score=(20 + 0) / 2,
            parameters={"image": "page"},
            answers={"page": ("a", "a", "b")},
        ),
        Golden(truth=((0.0, 0.0),), predicted=((0.0, 0.2),), score=10 * math.log10(50), note="MSE 0.02."),
        Golden(truth=(0.5, 0.5), predicted=(0.5, 0.5), score=100.0, note="No error: the limit."),
        Golden(truth=(0.5,), predicted=(0.5,), score=60.0, parameters={"limit": 60}),
        Golden(truth=(0.0,), predicted=(10.0,), score=-20.0),
    ),
    trial=Trial(
        truth=(0.0, 0.2, 0.7, 1.0), perfect=(0.0, 0.2, 0.7, 1.0), noisy=(0.1, 0.2, 0.6, 1.0), constant=(0.5,) * 4
    ),
    aliases={"peak_signal_noise_ratio": {}},
)
def psnr(
    truth: Array,
    predicted: Array,
    *,
    peak: Peak = 1.0,
    image: Image = None,
    limit: Annotated[float, Option("The value of an image without error, in decibel.", low=0, high=1000)] = 100.0,
) -> float:
    """Peak signal to noise ratio of predicted pixels in decibel, averaged over images."""
    means = group_means(np.square(errors(truth, predicted)).mean(axis=1), _image_codes(image, len(truth)))
    decibel = np.full(len(means), float(limit))
    np.log10(peak**2 / means, out=decibel, where=means > 0)
    decibel[means > 0] *= 10
    return float(np.minimum(decibel, limit).mean())


def _image_codes(image: Array | None, rows: int) -> Array:
    """To which image each row belongs, int64 of shape (rows,)."""
    return np.zeros(rows, dtype=np.int64) if image is None else group_codes(image)


def _flat(value: float, other: float) -> float:
    """The similarity of two images without any structure, of one value each."""
    constant = K1**2
    return (2 * value * other + constant) / (value**2 + other**2 + constant)


_SIDE = range(WINDOW)
_PLACES = {
    "row": tuple(row for row in _SIDE for _ in _SIDE),
    "column": tuple(column for _ in _SIDE for column in _SIDE),
}
_PARAMETERS = {"row": "row", "column": "column"}
_RAMP = tuple((row + column) / 20 for row in _SIDE for column in _SIDE)
_DOT = tuple(float(row == column == WINDOW // 2) for row in _SIDE for column in _SIDE)
_DOT_WEIGHT = 1 / sum(math.exp(-((at - WINDOW // 2) ** 2) / (2 * SIGMA**2)) for at in _SIDE) ** 2


@metric(
    higher_is_better=True,
    range=(-1.0, 1.0),
    kinds=("number", "probability", "integer"),
    source="Structural similarity (Wang, Bovik, Sheikh and Simoncelli 2004): the mean over windows of "
    "(2 mx my + C1)(2 sxy + C2) / ((mx^2 + my^2 + C1)(sx^2 + sy^2 + C2)), C1 = (0.01 peak)^2, C2 = (0.03 peak)^2, with "
    "means, variances and covariance weighted by a Gaussian of 11 x 11 pixels and standard deviation 1.5 whose weights "
    "add to 1 (population statistics), at every place where the window is inside the image; then the mean over images, "
    "and over target columns (colours). It is what scikit-image gives with gaussian_weights=True, sigma=1.5, "
    "use_sample_covariance=False.",
    degenerate="Images without variance are compared by their means; C1 and C2 keep every value finite. A fault of the "
    "task: an image of less than 11 x 11 pixels, or one whose scored rows are not each pixel of a rectangle once, so a "
    "task must split its answers by image, not by row.",
    golden=(
        Golden(
            truth=(0.5,) * 121,
            predicted=(0.25,) * 121,
            score=_flat(0.5, 0.25),
            parameters=_PARAMETERS,
            answers=_PLACES,
            note="No variance: only the means are compared, 0.2501 / 0.3126.",
        ),
        Golden(
            truth=(100,) * 121,
            predicted=(200,) * 121,
            score=_flat(100 / 255, 200 / 255),
            kind="integer",
            parameters={**_PARAMETERS, "peak": 255},
            answers=_PLACES,
        ),
        Golden(truth=_RAMP, predicted=_RAMP, score=1.0, parameters=_PARAMETERS, answers=_PLACES),
        Golden(
            truth=_DOT,
            predicted=(0.0,) * 121,
            score=K1**2 / (_DOT_WEIGHT**2 + K1**2) * K2**2 / (_DOT_WEIGHT - _DOT_WEIGHT**2 + K2**2),
            parameters=_PARAMETERS,
            answers=_PLACES,
            note="One pixel of 1 has the mean w and the variance w - w^2, where w is its weight.",
        ),
        Golden(
            truth=(0.5,) * 242,
            predicted=(0.5,) * 121 + (0.25,) * 121,
            score=(1 + _flat(0.5, 0.25)) / 2,
            parameters={**_PARAMETERS, "image": "page"},
            answers={
                "row": _PLACES["row"] * 2,
                "column": _PLACES["column"] * 2,
                "page": ("a",) * 121 + ("b",) * 121,
            },
        ),
    ),
    trial=Trial(
        truth=_RAMP,
        perfect=_RAMP,
        noisy=tuple(value + 0.05 * (-1) ** at for at, value in enumerate(_RAMP)),
        constant=(0.5,) * 121,
        parameters=_PARAMETERS,
        answers=_PLACES,
    ),
)
def ssim(
    truth: Array,
    predicted: Array,
    *,
    row: Annotated[Array | None, AnswerColumn("The row of each pixel in its image.", "integer", needed=True)] = None,
    column: Annotated[
        Array | None, AnswerColumn("The column of each pixel in its image.", "integer", needed=True)
    ] = None,
    image: Image = None,
    peak: Peak = 1.0,
) -> float:
    """Structural similarity of predicted images."""
    if row is None or column is None:
        raise PackError("Structural similarity needs the row and the column of each pixel.")
    true, found = numbers(truth), predicted.astype(np.float64)
    values = [
        _similarities(true[places], found[places], peak)
        for places in _images(_image_codes(image, len(truth)), row, column)
    ]
    return float(np.concatenate(values).mean())


def _images(which: Array, row: Array, column: Array) -> Iterator[Array]:
    """Positions of the pixels of images of one size, intp of shape (images, height, width), some images at a time.

    Raises:
        PackError: An image is no full rectangle, or smaller than the window.
    """
    order = np.lexsort((column, row, which))
    starts = np.flatnonzero(np.diff(which[order], prepend=-1))
    counts = np.diff(starts, append=len(order))
    left, right = np.minimum.reduceat(column[order], starts), np.maximum.reduceat(column[order], starts)
    top, bottom = row[order][starts], row[order][starts + counts - 1]
    # Extents as floats first: the difference of two large integers wraps around.
    far = np.maximum(bottom.astype(np.float64) - top, right.astype(np.float64) - left)
    if far.max() > len(order):
        raise PackError(_NO_RECTANGLE)
    width, height = right - left + 1, bottom - top + 1
    if (width * height != counts).any():
        raise PackError(_NO_RECTANGLE)
    inside = np.arange(len(order)) - np.repeat(starts, counts)
    wide = np.repeat(width, counts)
    expected = np.repeat(top, counts) + inside // wide, np.repeat(left, counts) + inside % wide
    if (row[order] != expected[0]).any() or (column[order] != expected[1]).any():
        raise PackError(_NO_RECTANGLE)
    if min(width.min(), height.min()) < WINDOW:
        raise PackError(f"Structural similarity needs images of at least {WINDOW} x {WINDOW} pixels.")
    for high, across in np.unique(np.stack((height, width), axis=1), axis=0).tolist():
        firsts = starts[(height == high) & (width == across)]
        batch = max(1, PIXELS_AT_ONCE // (high * across))
        for at in range(0, len(firsts), batch):
            places = firsts[at : at + batch, None] + np.arange(high * across)
            yield order[places].reshape(-1, high, across)


_NO_RECTANGLE = (
    "The scored rows of an image are not each pixel of a rectangle once. Correct the columns that the parameters row, "
    "column and image name, or split the answers by image."
)


def _similarities(truth: Array, predicted: Array, peak: float) -> Array:
    """The similarity of each image, of shape (images,); the arguments are of shape (images, height, width)."""
    one, two = (K1 * peak) ** 2, (K2 * peak) ** 2
    offsets = np.arange(WINDOW) - WINDOW // 2
    weights = np.exp(-(offsets**2) / (2 * SIGMA**2))
    weights = np.outer(weights, weights) / weights.sum() ** 2
    high, across = truth.shape[1] - WINDOW + 1, truth.shape[2] - WINDOW + 1

    def shifted() -> Iterator[tuple[float, Array, Array]]:
        for (down, over), weight in np.ndenumerate(weights):
            place = np.s_[:, down : down + high, over : over + across]
            yield float(weight), truth[place], predicted[place]

    shape = (len(truth), high, across)
    mean_true, mean_found = np.zeros(shape), np.zeros(shape)
    for weight, true, found in shifted():
        mean_true += weight * true
        mean_found += weight * found
    # Not as a difference of squares, which for large values is all rounding.
    spread, shared = np.zeros(shape), np.zeros(shape)
    for weight, true, found in shifted():
        from_true, from_found = true - mean_true, found - mean_found
        spread += weight * (from_true**2 + from_found**2)
        shared += weight * from_true * from_found
    light = (2 * mean_true * mean_found + one) / (mean_true**2 + mean_found**2 + one)
    structure = (2 * shared + two) / (spread + two)
    similarity: Array = (light * structure).mean(axis=(1, 2))
    return similarity
