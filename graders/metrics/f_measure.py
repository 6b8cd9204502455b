"""The F-measure of predicted classes: of one positive class, or averaged over the classes."""

from __future__ import annotations

from typing import Annotated, Literal

import numpy as np

from openmle_env.errors import PackError
from openmle_env.graders.cells import yes_and_no
from openmle_env.graders.metrics.examples import Golden, Trial
from openmle_env.graders.metrics.parameters import Option
from openmle_env.graders.metrics.registry import metric
from openmle_env.graders.rows import Array


@metric(
    higher_is_better=True,
    range=(0.0, 1.0),
    kinds=("label", "integer", "text"),
    source="(1 + b^2) * precision * recall / (b^2 * precision + recall) = (1 + b^2) * TP / (b^2 * rows of the class + "
    "rows predicted so) (van Rijsbergen 1979; scikit-learn's fbeta_score). binary: of the positive class; macro: mean "
    "over the classes; weighted: mean weighted by the rows of each class in the truth; micro: from sums over the "
    "classes, which with all classes is accuracy. Classes are the task's labels; for integers and texts, the values "
    "that occur in the truth or the predictions. Of several targets, the mean over the columns.",
    degenerate="A class that is predicted or true, but never right, has 0. A class that neither truth nor predictions "
    "hold is left out of the macro mean, or counts as 0 or 1: zero_division. Where the truth does not hold the "
    "positive class, or one of the given labels, the metric is undefined, which is a fault of the task. Nor is there "
    "a positive class by itself, unless the classes are one yes and one no, or hold 1.",
    golden=(
        Golden(
            kind="label",
            labels=("0", "1"),
            truth=("1", "1", "1", "0"),
            predicted=("1", "1", "0", "1"),
            score=2 / 3,
            note="2 TP, 1 FN, 1 FP.",
        ),
        Golden(
            kind="integer",
            truth=(1, 1, 1, 1, 0),
            predicted=(1, 1, 0, 0, 0),
            parameters={"beta": 2},
            score=5 * 2 / (4 * 4 + 2),
            note="Precision 1, recall 1/2.",
        ),
        Golden(
            kind="text",
            truth=("spam", "ham", "spam"),
            predicted=("spam", "spam", "ham"),
            parameters={"positive": "ham"},
            score=0.0,
        ),
        Golden(
            kind="label",
            labels=("no", "yes"),
            truth=("yes", "no", "no"),
            predicted=("no", "no", "no"),
            score=0.0,
            note="A yes is the positive class; none is predicted.",
        ),
        Golden(
            kind="text",
            truth=("Maize", "Charlock", "Maize"),
            predicted=("Maize", "Maize", "Maize"),
            parameters={"average": "micro"},
            score=2 / 3,
        ),
        Golden(
            kind="text",
            truth=("Maize", "Charlock", "Maize"),
            predicted=("Maize", "Maize", "Maize"),
            parameters={"average": "macro"},
            score=0.4,
            note="0.8 for Maize, 0 for Charlock.",
        ),
        Golden(
            kind="text",
            truth=("Maize", "Charlock", "Maize"),
            predicted=("Maize", "Maize", "Maize"),
            parameters={"average": "weighted"},
            score=1.6 / 3,
        ),
        *(
            Golden(
                kind="label",
                labels=("a", "b", "c"),
                truth=("a", "b"),
                predicted=("a", "b"),
                parameters={"average": "macro", "zero_division": rule},
                score=score,
                note="Neither truth nor predictions hold c.",
            )
            for rule, score in (("skip", 1.0), ("zero", 2 / 3), ("one", 1.0))
        ),
        Golden(
            kind="integer",
            truth=(0, 1, 2, 2),
            predicted=(0, 1, 2, 1),
            parameters={"average": "macro", "labels": ("1", "2")},
            score=2 / 3,
            note="2/3 for 1 and 2/3 for 2; class 0 does not count.",
        ),
        Golden(
            kind="integer",
            truth=(0, 0, 1, 2),
            predicted=(0, 0, 1, 1),
            parameters={"average": "micro", "labels": ("1", "2")},
            score=0.5,
            note="Of classes 1 and 2: 1 TP, 1 FP, 1 FN.",
        ),
    ),
    trial=Trial(
        kind="integer",
        truth=(0, 1, 2, 0, 1, 2),
        perfect=(0, 1, 2, 0, 1, 2),
        noisy=(0, 1, 2, 0, 1, 0),
        constant=(0, 0, 0, 0, 0, 0),
        parameters={"average": "macro"},
    ),
    aliases={
        "fbeta_score": {},
        "f1": {"beta": 1},
        "f1_score": {"beta": 1},
        "f1_binary": {"beta": 1, "average": "binary"},
        "f1_macro": {"beta": 1, "average": "macro"},
        "f1_micro": {"beta": 1, "average": "micro"},
        "f1_weighted": {"beta": 1, "average": "weighted"},
        "f2": {"beta": 2},
        "f0.5": {"beta": 0.5},
    },
)
def fbeta(
    truth: Array,
    predicted: Array,
    *,
    classes: tuple[str, ...],
    beta: Annotated[float, Option("How much recall weighs against precision.", above=0, high=1000)] = 1.0,
    average: Annotated[
        Literal["binary", "macro", "micro", "weighted"], Option("Of one positive class, or how classes are averaged.")
    ] = "binary",
    positive: Annotated[str, Option("The positive class, for average=binary; the yes or the 1, if left out.")] = "",
    labels: Annotated[tuple[str, ...], Option("The classes that count; all, if left out. Not for binary.")] = (),
    zero_division: Annotated[
        Literal["skip", "zero", "one"],
        Option("What a class that neither truth nor predictions hold is in the macro mean: left out, 0, or 1."),
    ] = "skip",
) -> float:
    """The weighted harmonic mean of precision and recall, of one class or averaged over the classes."""
    right = np.bincount(truth[truth == predicted], minlength=len(classes))
    true = np.bincount(truth, minlength=len(classes))
    found = np.bincount(predicted, minlength=len(classes))
    wanted = _positive(positive, classes, true) if average == "binary" else _chosen(labels, classes, true)
    right, true, found = right[wanted], true[wanted], found[wanted]
    square = beta * beta
    if average == "micro":
        return float((1 + square) * right.sum() / (square * true.sum() + found.sum()))
    held = true + found > 0
    values = np.full(len(held), 1.0 if zero_division == "one" else 0.0)
    values[held] = (1 + square) * right[held] / (square * true[held] + found[held])
    if average == "weighted":
        return float((values * true).sum() / true.sum())
    return float((values[held] if zero_division == "skip" else values).mean())


def _positive(positive: str, classes: tuple[str, ...], true: Array) -> list[int]:
    """Where the positive class stands, alone in a list.

    Raises:
        PackError: It is not known, or the truth does not hold it.
    """
    if not positive:
        # Of the classes in the truth, where texts are compared: no prediction may be an error.
        held = [name for name, count in zip(classes, true, strict=True) if count]
        one = "1" if len(held) <= 2 and not {"0", "1"}.isdisjoint(held) else ""
        positive = (yes_and_no(classes) or yes_and_no(held)).get(True, one)
    if not positive:
        raise PackError(
            "F-beta with average=binary does not know which class of these answers is the positive one. Name it by the "
            "parameter positive, or choose another average."
        )
    return _chosen((positive,), classes, true)


def _chosen(labels: tuple[str, ...], classes: tuple[str, ...], true: Array) -> list[int]:
    """Where the classes stand that count.

    Raises:
        PackError: The truth does not hold one of them, so that nothing that is predicted could score for it.
    """
    positions = {name: position for position, name in enumerate(classes)}
    for label in labels:
        if label not in positions or not true[positions[label]]:
            raise PackError(
                f"F-beta is undefined for the class {label!r}, which these answers do not hold. Correct the name, or "
                "divide the answers so that each part holds it."
            )
    return [positions[label] for label in dict.fromkeys(labels)] or list(range(len(classes)))
