"""Who is at fault where numbers are so large, or so small, that errors overflow."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping

import pytest

from openmle_env.graders import metrics
from openmle_env.graders.metrics import Golden
from openmle_env.types import ResultStatus

Compute = Callable[..., float]

HUGE, TINY = (1e200, 2e200, -1.7e308), (1e-200, 3e-310, 5e-324)
ORDINARY = (1.0, 2.0, 0.0)
SCALE = {"parameters": {"scale": "s"}, "answers": {"s": (1, 1, 1)}}
WEIGHTED = {"parameters": {"scale": "s", "weight": "w"}, "answers": {"s": (1, 1, 1), "w": (1, 1, 1)}}
SMALL_SCALE = {"parameters": {"scale": "s"}, "answers": {"s": TINY}}
SMALL_SCALE_WEIGHTED = {"parameters": {"scale": "s", "weight": "w"}, "answers": {"s": TINY, "w": (1, 1, 1)}}
LEVELS = {
    "parameters": {"groups": "g", "scales": "s", "weights": "w"},
    "answers": {"g": ("a", "b", "c"), "s": TINY, "w": (1, 1, 1)},
}
GROUP = {"parameters": {"group": "g"}, "answers": {"g": ("a", "b", "b")}}
LINE = tuple(range(11))
PLACES = {"r": [row for row in LINE for _ in LINE], "c": [column for _ in LINE for column in LINE]}
PIXELS = {"parameters": {"row": "r", "column": "c"}, "answers": PLACES}


@pytest.mark.parametrize(
    ("name", "truth", "ordinary", "rest"),
    [
        *((name, HUGE, ORDINARY, {}) for name in ("mae", "median_ae", "mse", "rmse", "r2", "explained_variance")),
        *((name, HUGE, ORDINARY, {}) for name in ("mape", "smape", "wape", "pinball", "angle_error", "psnr")),
        ("group_log_mae", HUGE, ORDINARY, GROUP),
        ("mase", HUGE, ORDINARY, SCALE),
        ("wrmsse", HUGE, ORDINARY, WEIGHTED),
        ("ssim", (1e200,) * 121, (1.0,) * 121, PIXELS),
        *((name, TINY, ORDINARY, {}) for name in ("r2", "explained_variance", "mape", "wape")),
        ("mape", TINY, ORDINARY, {"parameters": {"zero": "skip"}}),
        ("mase", ORDINARY, (3.0, 3.0, 3.0), SMALL_SCALE),
        ("wrmsse", ORDINARY, (3.0, 3.0, 3.0), SMALL_SCALE_WEIGHTED),
        ("hierarchical_wrmsse", ORDINARY, (3.0, 3.0, 3.0), LEVELS),
    ],
)
def test_answers_that_overflow_are_the_tasks_fault_whatever_is_predicted(
    name: str, truth: tuple[float, ...], ordinary: tuple[float, ...], rest: Mapping[str, object]
) -> None:
    for predicted in (truth, ordinary):
        example = Golden(truth=truth, predicted=predicted, score=0, kind="number", **rest)  # type: ignore[arg-type]
        used, true, found = metrics.get(name).example(example)
        scored = used.score(true, found, range(len(true)))
        assert (scored.status, scored.score) == (ResultStatus.METRIC_OR_ANSWER_MISSING, None)


@pytest.mark.parametrize(
    ("name", "rest"),
    [
        *((name, {}) for name in ("mae", "mse", "rmse", "r2", "explained_variance", "mape", "smape", "wape", "psnr")),
        ("mase", {"parameters": {"scale": "s"}, "answers": {"s": (1e-100, 1, 1)}}),
        ("wrmsse", {"parameters": {"scale": "s", "weight": "w"}, "answers": {"s": (1e-100, 1, 1), "w": (1, 1, 1)}}),
    ],
)
def test_answers_and_predictions_up_to_the_bound_have_a_value(name: str, rest: Mapping[str, object]) -> None:
    # 1e-100, too, is a size that can be divided by.
    example = Golden(truth=(1e100, -1e100, 1e-100), predicted=(-1e100, 1e100, 1e100), score=0, kind="number", **rest)  # type: ignore[arg-type]
    used, true, found = metrics.get(name).example(example)
    assert math.isfinite(used(true, found))


def test_weights_of_series_may_have_any_size(compute: Compute) -> None:
    given = {"scale": "s", "weight": "w", "level": "level"}
    answers = {"s": (1, 1, 1, 1), "level": ("a", "a", "b", "b")}
    expected = compute("wrmsse", (0,) * 4, (1, 2, 3, 5), **given, answers={**answers, "w": (1, 1, 1, 3)})
    huge = compute("wrmsse", (0,) * 4, (1, 2, 3, 5), **given, answers={**answers, "w": (1.7e308, 1.7e308, 1, 3)})
    tiny = compute("wrmsse", (0,) * 4, (1, 2, 3, 5), **given, answers={**answers, "w": (5e-324, 5e-324, 1e300, 3e300)})
    assert expected == huge == tiny == (1.5 + 4.5) / 2


def test_a_constant_far_from_the_truth_explains_nothing(compute: Compute) -> None:
    # 1e15 less the truth has three bits behind the point.
    assert compute("explained_variance", (-2.09, -1.27, 3, 2.61, -0.71), [1e15] * 5) == pytest.approx(0, abs=1e-12)
