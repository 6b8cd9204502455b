from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
import pytest
from sklearn.metrics import roc_auc_score

from openmle_env.errors import PackError, UsageError
from openmle_env.graders import metrics
from openmle_env.graders.metrics import Golden

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from openmle_env.graders.rows import Array


def value(truth: Array, scores: Array, groups: Mapping[str, Sequence[float]], **parameters: object) -> float:
    golden = Golden(
        truth=truth.tolist(),
        predicted=scores.tolist(),
        score=0.0,
        parameters={"identities": list(groups), **parameters},
        answers=groups,
    )
    used, true, found = metrics.get("subgroup_bias_auc").example(golden)
    return used(true, found)


@pytest.mark.parametrize("seed", range(10))
def test_by_the_formula_of_the_competition(seed: int) -> None:
    rng = np.random.default_rng(seed)
    truth, scores = rng.integers(0, 11, 120) / 10, rng.integers(0, 20, 120) / 20
    groups = {name: rng.integers(0, 11, 120) / 10 for name in "abc"}
    positive = truth >= 0.5
    parts: list[list[float]] = [[], [], []]
    for mentions in groups.values():
        inside = mentions >= 0.5
        for part, rows in zip(
            parts,
            (inside, (inside & ~positive) | (~inside & positive), (inside & positive) | (~inside & ~positive)),
            strict=True,
        ):
            part.append(roc_auc_score(positive[rows], scores[rows]))
    means = [(sum(auc**-5 for auc in part) / 3) ** (-1 / 5) for part in parts]
    expected = 0.25 * (roc_auc_score(positive, scores) + sum(means))
    listed = {name: mentions.tolist() for name, mentions in groups.items()}
    assert value(truth, scores, listed) == pytest.approx(expected)


def test_one_bad_group_costs_more_than_the_mean() -> None:
    truth = np.array([1, 0, 0, 1, 0, 1, 0])
    groups = {"a": [1, 1, 1, 0, 0, 0, 0], "b": [0, 0, 0, 1, 1, 0, 0]}
    fair, unfair = np.array([9, 1, 2, 8, 2, 7, 3]), np.array([4, 5, 2, 8, 2, 7, 3])
    assert value(truth, fair, groups) == 1.0
    assert value(truth, unfair, groups) < value(truth, unfair, groups, power=-1) < 1
    assert value(truth, unfair, groups, overall_weight=1) == pytest.approx(11 / 12)


@pytest.mark.parametrize(
    ("groups", "where"),
    [
        ({"a": [1, 1, 0, 0], "b": [1, 0, 0, 0]}, "group 2 of 2"),
        ({"a": [0, 0, 0, 0]}, "group 1 of 1"),
        ({"a": [1, 1, 1, 1], "b": [1, 1, 0, 0]}, "group 1 of 2"),
    ],
)
def test_a_group_of_one_class_is_a_fault_of_the_task(groups: dict[str, Sequence[float]], where: str) -> None:
    with pytest.raises(PackError, match=f"undefined on {where}"):
        value(np.array([1, 0, 1, 0]), np.array([4, 3, 2, 1]), groups)


def test_every_group_is_a_column_of_the_answers() -> None:
    with pytest.raises(PackError, match="needs the parameter identities, the names of columns of the answers"):
        metrics.get("subgroup_bias_auc").example(Golden(truth=(0, 1), predicted=(0, 1), score=0.0))
    with pytest.raises(UsageError, match="each once"):
        metrics.get("subgroup_bias_auc", {"identities": "male, male"})
    assert metrics.get("subgroup_bias_auc", {"identities": "male, female"}).given["identities"] == ("male", "female")


def test_an_order_that_is_wrong_within_a_group_has_a_power_mean_of_zero() -> None:
    score = value(np.array([1, 0, 1, 0]), np.array([0, 1, 5, 0]), {"a": [1, 1, 0, 0]})
    assert math.isfinite(score)
    assert score == pytest.approx((0.625 + 0 + 1 + 0.5) / 4)


def test_the_lower_the_power_the_nearer_is_its_mean_to_the_least_value() -> None:
    truth = np.array([1, 0, 0, 1, 0, 1, 0])
    groups = {"a": [1, 1, 1, 0, 0, 0, 0], "b": [0, 0, 0, 1, 1, 0, 0]}
    scores = np.array([4, 5, 2, 8, 2, 7, 3])
    far, farther = (value(truth, scores, groups, overall_weight=0, power=power) for power in (-1e3, -1e6))
    # Within group a, 1 of 2 pairs is in order; in all other sets, all are.
    assert far == pytest.approx((0.5 + 1 + 1) / 3, rel=1e-3)
    assert farther == pytest.approx((0.5 + 1 + 1) / 3, rel=1e-6)
