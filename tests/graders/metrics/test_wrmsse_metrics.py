from __future__ import annotations

import math
from collections.abc import Callable
from itertools import pairwise

import numpy as np
import pytest

from openmle_env.errors import PackError
from openmle_env.graders.metrics.forecasting import naive_scale

Compute = Callable[..., float]


def test_wrmsse_by_hand_on_three_levels(compute: Compute) -> None:
    # Two articles in two shops: four series below, two shops, one total; two days each.
    histories = {
        "item": {"a1": [0, 0, 2, 4, 2], "a2": [5, 5, 5, 6, 5], "b1": [1, 2, 1, 2, 1], "b2": [3, 0, 3, 0, 3]},
        "shop": {"1": [1, 2, 3, 6, 3], "2": [8, 5, 8, 6, 8]},
        "total": {"all": [9, 7, 11, 12, 11]},
    }
    weights = {
        "item": {"a1": 0.1, "a2": 0.2, "b1": 0.3, "b2": 0.4},
        "shop": {"1": 0.4, "2": 0.6},
        "total": {"all": 1.0},
    }
    random = np.random.default_rng(5)
    columns: dict[str, list[object]] = {"level": [], "name": [], "s": [], "w": []}
    truth, predicted, expected = [], [], 0.0
    for level, series in histories.items():
        for name, history in series.items():
            sold = history[next(i for i, value in enumerate(history) if value) :]
            scale = sum((b - a) ** 2 for a, b in pairwise(sold)) / (len(sold) - 1)
            assert naive_scale(history) == scale
            error = random.integers(-3, 4, 2)
            expected += weights[level][name] * math.sqrt((error**2).mean() / scale) / len(histories)
            for step in error:
                truth.append(10)
                predicted.append(10 + step)
                for key, value in (("level", level), ("name", name), ("s", scale), ("w", weights[level][name])):
                    columns[key].append(value)
    value = compute("wrmsse", truth, predicted, scale="s", weight="w", series="name", level="level", answers=columns)
    assert value == pytest.approx(expected, rel=1e-12)


def test_one_name_in_two_levels_is_two_series(compute: Compute) -> None:
    answers = {"s": (1, 4), "w": (1, 1), "name": ("x", "x"), "level": ("item", "total")}
    given = {"scale": "s", "weight": "w", "series": "name", "answers": answers}
    assert compute("wrmsse", (0, 0), (3, 3), level="level", **given) == (3 + 1.5) / 2
    with pytest.raises(PackError, match="different scales or weights"):
        compute("wrmsse", (0, 0), (3, 3), **given)


def test_rows_and_columns_are_both_steps(compute: Compute) -> None:
    wide = compute("wrmsse", [(0, 0, 0, 0)], [(1, 2, 3, 4)], scale="s", weight="w", answers={"s": [2], "w": [1]})
    answers = {"s": [2] * 4, "w": [1] * 4, "name": ["a"] * 4}
    long = compute("wrmsse", [0] * 4, [1, 2, 3, 4], scale="s", weight="w", series="name", answers=answers)
    assert wide == long == pytest.approx(math.sqrt(30 / 4 / 2))


@pytest.mark.parametrize(
    ("scales", "weights", "rule", "message"),
    [
        ((1, 0), (0.5, 0.5), "refuse", "zero_scale=skip"),
        ((0, 0), (0.5, 0.5), "skip", "Every scale is 0"),
        ((1, -1), (0.5, 0.5), "skip", "negative"),
        ((1, 1), (1.5, -0.5), "refuse", "negative"),
        ((1, 1), (0, 0), "refuse", "undefined"),
    ],
)
def test_scales_and_weights_that_the_task_has_wrong(
    compute: Compute, scales: tuple[float, ...], weights: tuple[float, ...], rule: str, message: str
) -> None:
    answers = {"s": scales, "w": weights}
    with pytest.raises(PackError, match=message):
        compute("wrmsse", (1, 2), (1, 2), scale="s", weight="w", zero_scale=rule, answers=answers)


def test_a_level_without_weight(compute: Compute) -> None:
    answers = {"s": (1, 1), "w": (1, 0), "level": ("a", "b")}
    with pytest.raises(PackError, match="level"):
        compute("wrmsse", (1, 2), (1, 2), scale="s", weight="w", level="level", answers=answers)


def test_a_hierarchy_is_wrmsse_of_its_sums(compute: Compute) -> None:
    random = np.random.default_rng(6)
    truth, predicted = random.poisson(5, (2, 4, 3))
    shops, items = ["x", "x", "y", "y"], ["a", "b", "c", "d"]
    levels = [(items, [1, 2, 3, 4], [0.1, 0.2, 0.3, 0.4]), (shops, [5, 5, 6, 6], [0.3, 0.3, 0.7, 0.7])]
    columns = {"item": items, "s1": levels[0][1], "w1": levels[0][2], "shop": shops, "s2": levels[1][1]}
    columns["w2"] = levels[1][2]
    value = compute(
        "hierarchical_wrmsse",
        [tuple(row) for row in truth],
        [tuple(row) for row in predicted],
        groups="item,shop",
        scales="s1,s2",
        weights="w1,w2",
        answers=columns,
    )
    # The same with the sums as rows of their own.
    sums = np.array([[1, 0, 0, 0], [0, 1, 0, 0], [0, 0, 1, 0], [0, 0, 0, 1], [1, 1, 0, 0], [0, 0, 1, 1]])
    rows = {"s": [1, 2, 3, 4, 5, 6], "w": [0.1, 0.2, 0.3, 0.4, 0.3, 0.7], "level": ["item"] * 4 + ["shop"] * 2}
    expected = compute(
        "wrmsse",
        [tuple(row) for row in sums @ truth],
        [tuple(row) for row in sums @ predicted],
        scale="s",
        weight="w",
        level="level",
        answers=rows,
    )
    assert value == pytest.approx(expected, rel=1e-12)


def test_a_hierarchy_names_as_many_scales_as_levels(compute: Compute) -> None:
    answers = {"g": ["a", "a"], "s": [1, 2], "w": [1, 1]}
    with pytest.raises(PackError, match="1 groups, 2 scales and 1 weights"):
        compute("hierarchical_wrmsse", (1, 2), (1, 2), groups="g", scales="s,w", weights="w", answers=answers)
    with pytest.raises(PackError, match="different scales"):
        compute("hierarchical_wrmsse", (1, 2), (1, 2), groups="g", scales="s", weights="w", answers=answers)
