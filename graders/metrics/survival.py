"""Metrics of predicted survival: how well predictions order the times of events, some of them censored."""

from __future__ import annotations

from typing import Annotated, Literal

import numpy as np

from openmle_env.errors import PackError
from openmle_env.graders.metrics.examples import Golden, Trial
from openmle_env.graders.metrics.parameters import AnswerColumn, Option
from openmle_env.graders.metrics.rank_counts import inversions, rank_codes
from openmle_env.graders.metrics.registry import metric
from openmle_env.graders.metrics.row_means import needed
from openmle_env.graders.rows import Array

_RISK = {"event": "event", "prediction": "risk"}
_TIME = {"event": "event", "prediction": "time"}


@metric(
    higher_is_better=True,
    range=(0.0, 1.0),
    kinds=("number", "integer", "probability"),
    truth="number",
    arity=(1, 1),
    source="(right pairs + half of the tied ones) / comparable pairs (Harrell et al. 1982 and 1996). A pair is "
    "comparable if one row has an event and the other is known to have lasted longer: its time is greater, or equal "
    "and censored. Two events at one time are not comparable. A pair is right if the row that lasted longer has the "
    "lower risk (prediction=risk) or the greater time (prediction=time); equal predictions are a tie. The value is "
    "that of lifelines (time) and, but for its tolerance in ties, of scikit-survival (risk).",
    degenerate="No comparable pair (as where all rows are censored) is a fault of the task; so is a task that does "
    "not say which way predictions point. A constant prediction gives 0.5.",
    golden=(
        Golden(truth=(1, 2, 3), predicted=(9, 5, 1), parameters=_RISK, answers={"event": (1, 1, 1)}, score=1.0),
        Golden(truth=(1, 2, 3), predicted=(9, 5, 1), parameters=_TIME, answers={"event": (1, 1, 1)}, score=0.0),
        Golden(truth=(1, 2, 3), predicted=(4, 4, 4), parameters=_RISK, answers={"event": (1, 1, 1)}, score=0.5),
        Golden(
            truth=(5, 5),
            predicted=(1, 2),
            parameters=_RISK,
            answers={"event": (1, 0)},
            score=0.0,
            note="event and censoring at one time: the censored row lasted longer",
        ),
        Golden(
            truth=(1, 1, 2),
            predicted=(3, 1, 2),
            parameters=_RISK,
            answers={"event": (1, 1, 1)},
            score=0.5,
            note="two events at one time are not compared",
        ),
        Golden(
            truth=(1, 2, 3, 4),
            predicted=(1, 2, 3, 3),
            parameters=_TIME,
            answers={"event": (0, 1, 1, 0)},
            score=2.5 / 3,
            note="the first row is censored before anything happens; the last two tie",
        ),
        Golden(
            truth=(),
            predicted=(0.9, 0.2),
            kind="probability",
            names=("risk",),
            parameters={**_RISK, "time": "days"},
            answers={"event": (1, 0), "days": (3, 8)},
            score=1.0,
        ),
    ),
    trial=Trial(
        truth=(1, 2, 3, 4),
        perfect=(4, 3, 2, 1),
        noisy=(4, 2, 3, 1),
        constant=(2, 2, 2, 2),
        parameters=_RISK,
        answers={"event": (1, 1, 0, 1)},
        chance=0.5,
    ),
    aliases={"c_index": {}, "cindex": {}, "concordance_index_censored": {"prediction": "risk"}},
)
def concordance_index(
    truth: Array | None,
    predicted: Array,
    *,
    event: Annotated[
        Array | None, AnswerColumn("1 where the event was seen, 0 where it was censored.", kind="binary", needed=True)
    ] = None,
    prediction: Annotated[
        Literal["", "risk", "time"],
        Option("What a prediction is: a risk (larger is sooner) or a time (larger is later).", needed=True),
    ] = "",
    time: Annotated[
        Array | None, AnswerColumn("Time of event or censoring, instead of the target column.", replaces_targets=True)
    ] = None,
) -> float:
    """Harrell's concordance index: the share of comparable pairs of rows that predictions put in the right order."""
    seen = needed(event, "event") == 1
    risk = rank_codes(predicted)
    if prediction == "time":
        risk = int(risk.max()) - risk
    # Twice the rank of the time, plus 1 if censored: a row outlives an event exactly if this is greater.
    lasted = 2 * rank_codes(needed(truth if time is None else time, "time")) + ~seen
    after = np.sort(lasted)
    comparable = int((len(after) - np.searchsorted(after, lasted[seen], "right")).sum())
    if not comparable:
        raise PackError("No pair of answers can be compared: each event needs another row that lasted longer.")
    order = np.lexsort((risk, lasted))
    right = inversions(risk[order], seen[order])
    span = int(after[-1]) + 1
    keys = risk * span + lasted
    among = np.sort(keys)
    same_risk = np.searchsorted(among, (risk[seen] + 1) * span) - np.searchsorted(among, keys[seen], "right")
    return (right + int(same_risk.sum()) / 2) / comparable
