from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from openmle_env.errors import PackError
from openmle_env.graders import metrics
from openmle_env.graders.metrics import Golden

Compute = Callable[..., float]

DEGREES = st.integers(-1000, 1000)


@given(DEGREES, DEGREES, st.integers(-3, 3))
def test_whole_turns_do_not_matter(truth: int, predicted: int, turns: int) -> None:
    function = metrics.get("angle_error").function
    value = function(np.array([truth]), np.array([predicted]))
    assert 0 <= value <= 180
    assert function(np.array([truth]), np.array([predicted + 360 * turns])) == value
    assert function(np.array([predicted]), np.array([truth])) == value
    radians = function(np.radians([truth]), np.radians([predicted]), unit="radians")
    assert math.degrees(radians) == pytest.approx(value, abs=1e-9)


@given(DEGREES, DEGREES, DEGREES, DEGREES)
def test_angles_and_vectors_say_the_same(a: int, z: int, b: int, y: int) -> None:
    def vector(azimuth: float, zenith: float) -> np.ndarray:
        a, z = math.radians(azimuth), math.radians(zenith)
        return np.array([[math.cos(a) * math.sin(z), math.sin(a) * math.sin(z), math.cos(z)]])

    function = metrics.get("direction_error").function
    value = function(np.array([[a, z]]), np.array([[b, y]]))
    true, found = vector(a, z), 7.5 * vector(b, y)
    assert function(true, found, form="vector") == pytest.approx(value, abs=1e-6)
    cosine = float(np.clip((true * found).sum() / 7.5, -1, 1))
    assert value == pytest.approx(math.degrees(math.acos(cosine)), abs=1e-5)


def test_small_angles_are_exact(compute: Compute) -> None:
    # The arc cosine of a scalar product knows nothing below 1e-8.
    assert compute("direction_error", [(0, 90)], [(1e-9, 90)]) == pytest.approx(1e-9, rel=1e-6)


@pytest.mark.parametrize("length", [5e-324, 1e-200, 1e200, 1.7e308])
def test_the_length_of_a_vector_does_not_matter(compute: Compute, length: float) -> None:
    assert compute("direction_error", [(1, 0, 0)], [(length, length, 0)], form="vector") == pytest.approx(45)


def test_a_vector_of_zeros_is_refused_and_never_right() -> None:
    example = Golden(truth=((1, 0), (1, 0)), predicted=((1, 0), (0, -0.0)), score=0, parameters={"form": "vector"})
    used, truth, predicted = metrics.get("direction_error").example(example)
    (problem,) = used.problems(predicted, truth)
    assert problem.count == 1
    assert "id '1': a vector of zeros" in problem.message
    assert used(truth, predicted) == pytest.approx(45)  # 0 and a quarter turn


def test_zero_angles_are_a_direction() -> None:
    used, truth, predicted = metrics.get("direction_error").example(
        Golden(truth=((0, 90),), predicted=((0, 0),), score=0)
    )
    assert not used.problems(predicted, truth)
    assert used(truth, predicted) == pytest.approx(90)


def test_directions_that_the_task_has_wrong(compute: Compute) -> None:
    with pytest.raises(PackError, match="no direction"):
        compute("direction_error", [(0, 0), (1, 0)], [(1, 0), (1, 0)], form="vector")
    with pytest.raises(PackError, match="two target columns; there are 3"):
        compute("direction_error", [(0, 0, 1)], [(1, 0, 1)])


@given(
    st.lists(st.tuples(st.sampled_from("abc"), st.integers(-90, 90), st.integers(-180, 180)), min_size=1, max_size=30)
)
def test_percentiles_of_each_group_are_numpys(rows: list[tuple[str, int, int]]) -> None:
    groups = np.array([group for group, _, _ in rows], dtype=object)
    predicted = np.array([(lat, lon) for _, lat, lon in rows], dtype=float)
    truth = np.zeros_like(predicted)
    function = metrics.get("haversine").function
    distances = np.array([function(truth[[i]], predicted[[i]]) for i in range(len(rows))])
    expected = np.mean(
        [np.percentile(distances[groups == group], [50, 95]).mean() for group in sorted(set(groups.tolist()))]
    )
    assert function(truth, predicted, group=groups, statistic="p50_p95") == pytest.approx(expected, abs=1e-6)
    means = np.mean([distances[groups == group].mean() for group in sorted(set(groups.tolist()))])
    assert function(truth, predicted, group=groups) == pytest.approx(means, abs=1e-6)


def test_a_latitude_beyond_the_poles() -> None:
    example = Golden(truth=((10, 100), (10, 100)), predicted=((10, 100), (100, 10)), score=0)
    used, truth, predicted = metrics.get("haversine").example(example)
    (problem,) = used.problems(predicted, truth)
    assert "id '1': a latitude outside -90 to 90" in problem.message
    with pytest.raises(PackError, match="first target column is the latitude"):
        used(predicted, truth)


def test_longitudes_go_round(compute: Compute) -> None:
    assert compute("haversine", [(10, 350)], [(10, -10)]) == pytest.approx(0, abs=1e-6)
