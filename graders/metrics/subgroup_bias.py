"""ROC AUC with penalties for scores that mistake the mention of a group for the label (unintended bias)."""

from __future__ import annotations

from typing import Annotated

import numpy as np

from openmle_env.errors import PackError
from openmle_env.graders.metrics.curves import Thresholds
from openmle_env.graders.metrics.examples import Golden, Trial
from openmle_env.graders.metrics.parameters import AnswerColumn, Option
from openmle_env.graders.metrics.registry import metric
from openmle_env.graders.rows import Array

_TRUTH = (1, 0, 0, 1, 1, 0)
_GROUP = (1, 1, 1, 0, 0, 0)


@metric(
    higher_is_better=True,
    range=(0.0, 1.0),
    kinds=("number", "probability"),
    truth="number",
    targets="column",
    arity=(1, 1),
    source="Final metric of Jigsaw Unintended Bias in Toxicity Classification (Borkan et al. 2019): weight * overall "
    "AUC + (1 - weight) / 3 * (M(subgroup) + M(BPSN) + M(BNSP)). For each group: subgroup AUC of the rows that mention "
    "it; BPSN of its negative rows and the positive rows of the background; BNSP of its positive rows and the negative "
    "ones of the background. M is the power mean over groups, (mean of AUC^power)^(1/power). A label or a mention "
    "counts from the threshold on.",
    degenerate="A group of which one of the three sets holds one class only is a fault of the task. Blank mentions "
    "must be written as 0 in the answers. A constant scores 0.5; an AUC of 0 makes a power mean with a negative power "
    "0.",
    golden=(
        Golden(
            truth=_TRUTH,
            predicted=(0.9, 0.1, 0.6, 0.8, 0.5, 0.2),
            parameters={"identities": "a"},
            answers={"a": _GROUP},
            score=(8 / 9 + 1 + 3 / 4 + 1) / 4,
            note="Of 9 pairs only 0.6 over 0.5 is wrong; within the group 2 of 2; BPSN 3 of 4; BNSP 1 of 1.",
        ),
        Golden(
            truth=(0.5, 0.49, 0.0, 1.0, 0.7, 0.1),
            predicted=(0.9, 0.1, 0.6, 0.8, 0.5, 0.2),
            parameters={"identities": "a,b"},
            answers={"a": (0.5, 0.9, 0.6, 0.4, 0, 0), "b": (0, 0, 1, 1, 0.5, 0.3)},
            score=0.25 * (8 / 9 + ((1 + 0.5**-5) / 2) ** -0.2 + ((0.75**-5 + 1) / 2) ** -0.2 + 1),
            note="Shares of raters, 0.5 or more counts. Group b: within 1/2, BPSN 1/1, BNSP 4/4 against 0.1 and 0.2.",
        ),
        Golden(
            truth=_TRUTH,
            predicted=(0.9, 0.1, 0.6, 0.8, 0.5, 0.2),
            parameters={"identities": "a", "overall_weight": 1},
            answers={"a": _GROUP},
            score=8 / 9,
        ),
        Golden(
            truth=_TRUTH,
            predicted=(0.3,) * 6,
            parameters={"identities": "a"},
            answers={"a": _GROUP},
            score=0.5,
        ),
        Golden(
            truth=(1, 0, 1, 0),
            predicted=(0, 1, 5, 0),
            parameters={"identities": "a"},
            answers={"a": (1, 1, 0, 0)},
            score=0.25 * (2.5 / 4 + 0 + 1 + 0.5),
            note="Within the group the only pair is wrong, so M(subgroup) is 0.",
        ),
    ),
    trial=Trial(
        truth=_TRUTH,
        perfect=(0.9, 0.1, 0.3, 0.8, 0.7, 0.2),
        noisy=(0.9, 0.1, 0.6, 0.8, 0.5, 0.2),
        constant=(0.4,) * 6,
        chance=0.5,
        parameters={"identities": "a"},
        answers={"a": _GROUP},
    ),
    aliases={"jigsaw_bias_auc": {}, "unintended_bias_auc": {}},
)
def subgroup_bias_auc(
    truth: Array,
    predicted: Array,
    *,
    identities: Annotated[
        Array | None,
        AnswerColumn(
            "One for each group: whether, or what share says that, the row mentions it.", needed=True, many=True
        ),
    ] = None,
    threshold: Annotated[float, Option("From here on a label is positive, and a group mentioned.")] = 0.5,
    power: Annotated[float, Option("Of the mean over groups; the lower, the more the worst counts.", high=-1)] = -5.0,
    overall_weight: Annotated[float, Option("Of the AUC over all rows.", low=0, high=1)] = 0.25,
) -> float:
    """ROC AUC overall, and over groups within them and against the background, their worst counting most."""
    if identities is None:
        raise PackError("Name the columns of the groups by the parameter identities.")
    order = np.argsort(-predicted)  # once, for all the sets of rows below
    positive, scores = truth[order] >= threshold, predicted[order]
    parts: list[list[float]] = [[], [], []]
    for position, mentions in enumerate(identities.T, 1):
        inside = mentions[order] >= threshold
        chosen = (inside, inside != positive, inside == positive)
        for part, rows in zip(parts, chosen, strict=True):
            part.append(_auc(positive[rows], scores[rows], f"group {position} of {identities.shape[1]}"))
    overall = _auc(positive, scores, "all rows")
    means = [_power_mean(np.array(part), power) for part in parts]
    return overall_weight * overall + (1 - overall_weight) * sum(means) / 3


def _power_mean(values: Array, power: float) -> float:
    """(mean of values^power)^(1/power) for a negative power; relative to the least value, as powers of it overflow."""
    least = values.min()
    return float(least * np.mean((values / least) ** power) ** (1 / power)) if least > 0 else 0.0


def _auc(positive: Array, scores: Array, where: str) -> float:
    value = Thresholds.of_sorted(positive, scores, np.ones(len(scores))).auc() if len(scores) else None
    if value is None:
        raise PackError(f"The bias AUC is undefined on {where}: one class only. Divide the answers in another way.")
    return value
