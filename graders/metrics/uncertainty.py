"""Metrics of predicted numbers with their uncertainty: quantiles, and a value with its confidence."""

from __future__ import annotations

import math
from typing import Annotated

import numpy as np

from openmle_env.errors import PackError
from openmle_env.graders.metrics.examples import Golden, Trial
from openmle_env.graders.metrics.parameters import AnswerColumn, Option
from openmle_env.graders.metrics.registry import metric
from openmle_env.graders.metrics.row_means import errors, needed
from openmle_env.graders.rows import Array

_ROOT2 = math.sqrt(2)


@metric(
    higher_is_better=False,
    range=(0.0, math.inf),
    kinds=("number", "integer"),
    targets="columns",
    answered=1,
    source="Mean over rows and quantiles q of max(q * (t - p), (q - 1) * (t - p)) (Koenker and Bassett 1978; as "
    "scikit-learn's mean_pinball_loss). One target column for each of the quantiles, in that order; the answers hold "
    "the true number in the first of them, or in the column that outcome names.",
    degenerate="Defined for one row or more; quantiles that cross are legal. As many quantiles as target columns, or "
    "it is a fault of the task.",
    golden=(
        Golden(truth=(10, 10), predicted=(8, 12), parameters={"quantiles": (0.9,)}, score=1.0, note="1.8 and 0.2"),
        Golden(truth=(10, 10), predicted=(8, 12), score=1.0, note="the default, the median: half of the MAE"),
        Golden(
            truth=(10,),
            predicted=((8, 10, 12),),
            parameters={"quantiles": (0.1, 0.5, 0.9)},
            score=0.4 / 3,
            note="0.2, 0 and 0.2",
        ),
        Golden(
            truth=(),
            predicted=((8, 12), (9, 14)),
            names=("q10", "q90"),
            parameters={"quantiles": (0.1, 0.9), "outcome": "sales"},
            answers={"sales": (10, 13)},
            score=(0.2 + 0.2 + 0.4 + 0.1) / 4,
        ),
    ),
    trial=Trial(
        truth=(1, 2, 3, 6),
        perfect=((1, 1), (2, 2), (3, 3), (6, 6)),
        noisy=((0.5, 1.5), (1, 2), (2, 3.5), (5, 7)),
        constant=((3, 3), (3, 3), (3, 3), (3, 3)),
        parameters={"quantiles": (0.1, 0.9)},
    ),
    aliases={"mean_pinball_loss": {}, "quantile_loss": {}},
)
def pinball(
    truth: Array | None,
    predicted: Array,
    *,
    quantiles: Annotated[tuple[float, ...], Option("The quantile that each target column predicts.", low=0, high=1)] = (
        0.5,
    ),
    outcome: Annotated[
        Array | None, AnswerColumn("The true number, instead of the first target column.", replaces_targets=True)
    ] = None,
) -> float:
    """The mean quantile loss: an error costs q where the truth is above the prediction, and 1 - q below."""
    count = predicted.shape[1]
    if len(quantiles) != count:
        raise PackError(f"There are {len(quantiles)} quantiles and {count} target columns: give one for each column.")
    true = needed(truth if outcome is None else outcome, "outcome")
    levels = np.asarray(quantiles)
    short = -errors(true[:, None], predicted)
    return float(np.maximum(levels * short, (levels - 1) * short).mean())


@metric(
    higher_is_better=True,
    range=(-math.inf, math.inf),
    kinds=("number", "integer"),
    targets="columns",
    arity=(2, 2),
    answered=1,
    source="Mean of -sqrt(2) * min(|p - t|, max_error) / s - ln(sqrt(2) * s) with s = max(confidence, min_confidence): "
    "the modified Laplace log likelihood of Kaggle's osic-pulmonary-fibrosis-progression. Two target columns, the "
    "value and its confidence (a standard deviation, in the unit of the value); the answers hold the first.",
    degenerate="A confidence below the least one, 0 and less included, counts as the least, so that no row fails.",
    golden=(
        Golden(truth=(2100,), predicted=((2100, 70),), score=-4.595068832329331, note="-ln(70 * sqrt(2))"),
        Golden(truth=(2000,), predicted=((2100, 100),), score=-_ROOT2 - math.log(100 * _ROOT2)),
        Golden(
            truth=(0,),
            predicted=((5000, -1),),
            score=-_ROOT2 * 1000 / 70 - math.log(70 * _ROOT2),
            note="both are clipped",
        ),
        Golden(
            truth=(0,),
            predicted=((80, 1),),
            parameters={"min_confidence": 10, "max_error": 50},
            score=-_ROOT2 * 5 - math.log(10 * _ROOT2),
        ),
    ),
    trial=Trial(
        truth=(2000, 2100, 2500),
        perfect=((2000, 70), (2100, 70), (2500, 70)),
        noisy=((2050, 90), (2100, 90), (2400, 90)),
        constant=((2200, 300), (2200, 300), (2200, 300)),
    ),
)
def laplace_log_likelihood(
    truth: Array,
    predicted: Array,
    *,
    min_confidence: Annotated[float, Option("The least confidence that counts.", above=0)] = 70.0,
    max_error: Annotated[float, Option("The greatest error that counts.", above=0)] = 1000.0,
) -> float:
    """The mean log likelihood of the truth, by a value and its confidence, with both clipped."""
    spread = np.maximum(predicted[:, 1].astype(np.float64), min_confidence)
    distance = np.minimum(np.abs(errors(truth, predicted[:, 0])), max_error)
    return float((-_ROOT2 * distance / spread - np.log(spread) - math.log(_ROOT2)).mean())
