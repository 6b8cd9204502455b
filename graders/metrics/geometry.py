"""Metrics of predicted angles, directions and positions on the earth."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Annotated, Literal

import numpy as np

from openmle_env.errors import PackError
from openmle_env.graders.metrics.examples import Golden, Trial
from openmle_env.graders.metrics.parameters import AnswerColumn, Option
from openmle_env.graders.metrics.registry import metric
from openmle_env.graders.metrics.row_means import errors, group_codes, group_means
from openmle_env.graders.rows import Array

if TYPE_CHECKING:
    from collections.abc import Iterator

_DEGREE = math.pi / 180 * 6_371_000.0
"""Metres of one degree along a great circle, for the examples."""


@metric(
    higher_is_better=False,
    range=(0.0, 180.0),
    kinds=("number", "integer"),
    source="Mean of min(d, turn - d) with d = |p - t| modulo a full turn (360 degrees or 2 pi radians), in the unit of "
    "the angles; several target columns: the mean over columns.",
    degenerate="Defined for one row or more; an angle may lie outside one turn.",
    golden=(
        Golden(truth=(350, 10), predicted=(10, 350), score=20),
        Golden(truth=(0, 90), predicted=(180, 90), score=90),
        Golden(truth=(-170,), predicted=(910,), score=0, note="910 = 190 = -170"),
        Golden(truth=(0.0,), predicted=(3 * math.pi / 2,), parameters={"unit": "radians"}, score=math.pi / 2),
    ),
    trial=Trial(truth=(0, 90, 350), perfect=(360, 90, -10), noisy=(5, 90, 0), constant=(100, 100, 100)),
    aliases={"angular_error": {}, "circular_mae": {}},
)
def angle_error(
    truth: Array,
    predicted: Array,
    *,
    unit: Annotated[Literal["degrees", "radians"], Option("Unit of the angles and of the value.")] = "degrees",
) -> float:
    """The mean absolute difference of angles, the shorter way round."""
    turn = 360.0 if unit == "degrees" else 2 * math.pi
    distance = np.mod(np.abs(errors(truth, predicted)), turn)
    return float(np.minimum(distance, turn - distance).mean())


def _no_direction(values: Array, *, form: str) -> Iterator[tuple[int, str]]:
    if form == "vector":
        for row in np.flatnonzero(~values.any(axis=1)):
            yield int(row), "a vector of zeros, which has no direction"


def _unit_vectors(values: Array, form: str, unit: str) -> Array:
    """Vectors of length 1, shape (rows, dimensions); a vector of zeros stays one."""
    values = values.astype(np.float64)
    if form == "azimuth_zenith":
        azimuth, zenith = (np.radians(values) if unit == "degrees" else values).T
        return np.stack((np.cos(azimuth) * np.sin(zenith), np.sin(azimuth) * np.sin(zenith), np.cos(zenith)), axis=1)
    peak = np.abs(values).max(axis=1, keepdims=True)  # divided by first: no square overflows or vanishes
    scaled = np.divide(values, peak, out=np.zeros_like(values), where=peak > 0)
    length = np.linalg.norm(scaled, axis=1, keepdims=True)
    return np.asarray(np.divide(scaled, length, out=np.zeros_like(scaled), where=length > 0))


@metric(
    higher_is_better=False,
    range=(0.0, 180.0),
    kinds=("number", "integer"),
    targets="columns",
    arity=(2, 1000),
    source="Mean over rows of the angle between the true and the predicted direction, 2 * atan2(|u - v|, |u + v|) of "
    "the vectors of length 1. form=azimuth_zenith: two target columns in that order, u = (cos a sin z, sin a sin z, "
    "cos z), as in Kaggle's icecube-neutrinos-in-deep-ice; form=vector: one column for each coordinate.",
    degenerate="A predicted vector of zeros is refused, and would count a quarter turn; a true one is a fault of the "
    "task, and so are azimuth and zenith in other than two columns.",
    golden=(
        Golden(truth=((0, 90),), predicted=((90, 90),), score=90),
        Golden(truth=((10, 0),), predicted=((250, 0),), score=0, note="at the zenith, the azimuth means nothing"),
        Golden(truth=((0, 90), (0, 90)), predicted=((180, 90), (0, 60)), score=105, note="180 and 30"),
        Golden(truth=((0.0, 0.0),), predicted=((1.0, math.pi),), parameters={"unit": "radians"}, score=math.pi),
        Golden(
            truth=((1, 0, 0), (0, 2, 0)), predicted=((5, 5, 0), (0, 9, 0)), parameters={"form": "vector"}, score=22.5
        ),
        Golden(truth=((1, 0),), predicted=((-3, 0),), parameters={"form": "vector", "unit": "radians"}, score=math.pi),
    ),
    trial=Trial(
        truth=((0, 90), (90, 90), (180, 30)),
        perfect=((0, 90), (450, 90), (180, 30)),
        noisy=((5, 90), (90, 80), (180, 30)),
        constant=((0, 0), (0, 0), (0, 0)),
    ),
    aliases={"mean_angular_error": {"unit": "radians"}},
    check=_no_direction,
)
def direction_error(
    truth: Array,
    predicted: Array,
    *,
    form: Annotated[
        Literal["azimuth_zenith", "vector"], Option("What the target columns are: two angles, or coordinates.")
    ] = "azimuth_zenith",
    unit: Annotated[Literal["degrees", "radians"], Option("Unit of the angles and of the value.")] = "degrees",
) -> float:
    """The mean angle between the true and the predicted direction."""
    if form == "azimuth_zenith" and predicted.shape[1] != 2:
        raise PackError(f"Azimuth and zenith are two target columns; there are {predicted.shape[1]}.")
    true, found = _unit_vectors(truth, form, unit), _unit_vectors(predicted, form, unit)
    if not true.any(axis=1).all():
        raise PackError("A true vector is all zeros and has no direction.")
    angles = 2 * np.arctan2(np.linalg.norm(true - found, axis=1), np.linalg.norm(true + found, axis=1))
    return float((np.degrees(angles) if unit == "degrees" else angles).mean())


def _no_latitude(values: Array) -> Iterator[tuple[int, str]]:
    for row in np.flatnonzero(np.abs(values[:, 0]) > 90):
        yield int(row), "a latitude outside -90 to 90 degrees"


def _quantiles(values: Array, codes: Array, share: float) -> Array:
    """The quantile of each group's values, linear between neighbours (numpy's default); shape (groups,)."""
    ordered = values[np.lexsort((values, codes))]
    counts = np.bincount(codes)
    place = np.cumsum(counts) - counts + (counts - 1) * share
    low = np.floor(place).astype(np.int64)
    high = np.minimum(low + 1, np.cumsum(counts) - 1)
    return np.asarray(ordered[low] + (ordered[high] - ordered[low]) * (place - low))


@metric(
    higher_is_better=False,
    range=(0.0, math.inf),
    kinds=("number",),
    targets="columns",
    arity=(2, 2),
    source="Distance 2 r asin(sqrt(sin^2(dlat/2) + cos lat_t cos lat_p sin^2(dlon/2))) on a sphere of radius r, in the "
    "unit of r. Two target columns, latitude and longitude in degrees, in that order. statistic=mean: the mean of each "
    "group's mean. statistic=p50_p95: the mean over groups of (50th + 95th percentile) / 2, as in Kaggle's "
    "smartphone-decimeter-2022, where a group is a phone on one drive. Without groups, all rows are one.",
    degenerate="A group of one row has that row's distance as every percentile. A predicted latitude outside -90 to 90 "
    "is refused, a true one is a fault of the task; longitudes go round.",
    golden=(
        Golden(truth=((0, 0), (10, 20)), predicted=((1, 0), (10, 20)), score=_DEGREE / 2),
        Golden(truth=((0, 179.5),), predicted=((0, -179.5),), score=_DEGREE, note="across the date line"),
        Golden(truth=((0, 0),), predicted=((0, 180),), parameters={"radius": 1}, score=math.pi, note="the other side"),
        Golden(
            truth=((0, 0), (0, 0), (0, 0)),
            predicted=((1, 0), (3, 0), (4, 0)),
            parameters={"group": "trip"},
            answers={"trip": ("a", "a", "b")},
            score=_DEGREE * (2 + 4) / 2,
        ),
        Golden(
            truth=((0, 0), (0, 0), (0, 0)),
            predicted=((1, 0), (3, 0), (4, 0)),
            parameters={"group": "trip", "statistic": "p50_p95"},
            answers={"trip": ("a", "a", "b")},
            score=_DEGREE * ((2 + 2.9) / 2 + 4) / 2,
        ),
        Golden(
            truth=((37.0, -122.0), (37.001, -122.0), (38.0, -121.0)),
            predicted=((37.00001, -122.0), (37.001, -122.00002), (38.0, -121.00001)),
            parameters={"group": "trip", "statistic": "p50_p95"},
            answers={"trip": ("t1", "t1", "t2")},
            score=1.23482911863031,
            note="as MLE-bench computes it for smartphone-decimeter-2022",
        ),
    ),
    trial=Trial(
        truth=((0, 0), (10, 20), (-30, 100)),
        perfect=((0, 0), (10, 20), (-30, 100)),
        noisy=((0, 1), (10, 20), (-30, 101)),
        constant=((0, 0), (0, 0), (0, 0)),
    ),
    aliases={
        "haversine_distance": {},
        "mean_haversine_distance": {},
        "haversine_p50_p95": {"statistic": "p50_p95"},
    },
    check=_no_latitude,
)
def haversine(
    truth: Array,
    predicted: Array,
    *,
    statistic: Annotated[
        Literal["mean", "p50_p95"], Option("What is taken of a group's distances: the mean, or two percentiles.")
    ] = "mean",
    group: Annotated[
        Array | None, AnswerColumn("The group of each row, such as a trip or a phone.", kind="text")
    ] = None,
    radius: Annotated[
        float, Option("Radius of the sphere; the earth's, in metres, as it stands.", above=0)
    ] = 6_371_000.0,
) -> float:
    """The distance between true and predicted positions on a sphere, averaged over groups."""
    if (np.abs(truth[:, 0]) > 90).any():
        raise PackError("A true latitude is outside -90 to 90 degrees: the first target column is the latitude.")
    (lat1, lon1), (lat2, lon2) = np.radians(truth).T, np.radians(predicted).T
    chord = np.sin((lat2 - lat1) / 2) ** 2 + np.cos(lat1) * np.cos(lat2) * np.sin((lon2 - lon1) / 2) ** 2
    distance = 2 * radius * np.arcsin(np.sqrt(np.clip(chord, 0, 1)))
    codes = np.zeros(len(distance), dtype=np.int64) if group is None else group_codes(group)
    if statistic == "mean":
        return float(group_means(distance, codes).mean())
    return float(((_quantiles(distance, codes, 0.5) + _quantiles(distance, codes, 0.95)) / 2).mean())
