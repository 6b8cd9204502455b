"""Precision, recall and F-measure of predicted classes: of one positive class, or averaged over the classes."""

from __future__ import annotations

from typing import Annotated, Literal, TypeAlias

import numpy as np

from openmle_env.errors import PackError
from openmle_env.graders.loading.cells import yes_and_no
from openmle_env.graders.metrics.examples import Golden, Trial
from openmle_env.graders.metrics.parameters import Option
from openmle_env.graders.metrics.registry import metric
from openmle_env.graders.rows import Array

Average: TypeAlias = Annotated[
    Literal["binary", "macro", "micro", "weighted"],
    Option(
        "Of one positive class, or how classes are averaged. The average over rows of several labels each, samples, is "
        "that of multilabel_fbeta (sets of labels in one cell) and multilabel_columns_fbeta (one column for each)."
    ),
]
Positive: TypeAlias = Annotated[
    str, Option("The positive class, for average=binary; the yes or the 1 of the answers, if left out.")
]
Labels: TypeAlias = Annotated[
    tuple[str, ...], Option("The classes that count; all, if left out. Not for average=binary.")
]
ZeroDivision: TypeAlias = Annotated[
    Literal["skip", "zero", "one"],
    Option("What a class that neither truth nor predictions hold is in the macro mean: left out, 0, or 1."),
]

_AVERAGES = (
    "binary: of the positive class; macro: mean over the classes; weighted: mean weighted by the rows of each class in "
    "the truth; micro: from sums over the classes, which with all classes is accuracy. Classes are the task's labels; "
    "for integers and texts, the values that occur in the truth or the predictions. Of several targets, the mean over "
    "the columns."
)
_UNDEFINED = (
    "A class that neither truth nor predictions hold is left out of the macro mean, or counts as 0 or 1: "
    "zero_division. Where the truth does not hold the positive class, or one of the given labels, the metric is "
    "undefined, which is a fault of the task. Without the parameter positive, the positive class is the yes of answers "
    "that hold no other class than a yes and a no, or the 1 of answers of one or two classes."
)

_TRIAL = Trial(
    kind="integer",
    truth=(0, 1, 2, 0, 1, 2),
    perfect=(0, 1, 2, 0, 1, 2),
    noisy=(0, 1, 2, 0, 1, 0),
    constant=(0, 0, 0, 0, 0, 0),
    parameters={"average": "macro"},
)


@metric(
    higher_is_better=True,
    range=(0.0, 1.0),
    kinds=("label", "integer", "text"),
    source="(1 + b^2) * precision * recall / (b^2 * precision + recall) = (1 + b^2) * TP / (b^2 * rows of the class + "
    f"rows predicted so) (van Rijsbergen 1979; scikit-learn's fbeta_score). {_AVERAGES}",
    degenerate=f"A class that is predicted or true, but never right, has 0. {_UNDEFINED}",
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
    trial=_TRIAL,
    aliases={
        "fbeta_score": {},
        "f1": {"beta": 1},
        "f1_score": {"beta": 1},
        "f1_binary": {"beta": 1, "average": "binary"},
        "f1_macro": {"beta": 1, "average": "macro"},
        "macro_f1": {"beta": 1, "average": "macro"},
        "f1_micro": {"beta": 1, "average": "micro"},
        "micro_f1": {"beta": 1, "average": "micro"},
        "f1_weighted": {"beta": 1, "average": "weighted"},
        "weighted_f1": {"beta": 1, "average": "weighted"},
        "f2": {"beta": 2},
        "f0.5": {"beta": 0.5},
    },
)
def fbeta(
    truth: Array,
    predicted: Array,
    *,
    classes: tuple[str, ...],
    beta: Annotated[float, Option("How much recall weighs against precision.", low=0.001, high=1000)] = 1.0,
    average: Average = "binary",
    positive: Positive = "",
    labels: Labels = (),
    zero_division: ZeroDivision = "skip",
) -> float:
    """The weighted harmonic mean of precision and recall, of one class or averaged over the classes."""
    return _averaged(
        truth,
        predicted,
        classes,
        by_true=beta * beta,
        by_found=1,
        average=average,
        positive=positive,
        labels=labels,
        zero_division=zero_division,
    )


@metric(
    higher_is_better=True,
    range=(0.0, 1.0),
    kinds=("label", "integer", "text"),
    source=f"TP / rows predicted so (scikit-learn's precision_score): fbeta for a beta of 0. {_AVERAGES}",
    degenerate=f"A class that the truth holds, but that is never predicted, has 0. {_UNDEFINED}",
    golden=(
        Golden(
            kind="label",
            labels=("0", "1"),
            truth=("1", "1", "1", "0"),
            predicted=("1", "1", "0", "1"),
            score=2 / 3,
            note="2 TP, 1 FP.",
        ),
        Golden(kind="integer", truth=(1, 1, 0), predicted=(0, 0, 0), score=0.0, note="No 1 is predicted."),
        Golden(
            kind="text",
            truth=("cat", "dog", "dog", "eel"),
            predicted=("cat", "cat", "dog", "cat"),
            parameters={"average": "macro"},
            score=4 / 9,
            note="1/3 for cat, 1 for dog; eel, which is never predicted, has 0.",
        ),
        Golden(
            kind="text",
            truth=("cat", "dog", "dog", "eel"),
            predicted=("cat", "cat", "dog", "cat"),
            parameters={"average": "weighted"},
            score=(1 / 3 + 2 * 1) / 4,
        ),
        Golden(
            kind="text",
            truth=("cat", "dog", "dog", "eel"),
            predicted=("cat", "cat", "dog", "cat"),
            parameters={"average": "micro", "labels": "cat,dog"},
            score=0.5,
            note="2 of 4 that are predicted as one of both.",
        ),
    ),
    trial=_TRIAL,
    aliases={
        "precision_score": {},
        "precision_macro": {"average": "macro"},
        "precision_micro": {"average": "micro"},
        "precision_weighted": {"average": "weighted"},
    },
)
def precision(
    truth: Array,
    predicted: Array,
    *,
    classes: tuple[str, ...],
    average: Average = "binary",
    positive: Positive = "",
    labels: Labels = (),
    zero_division: ZeroDivision = "skip",
) -> float:
    """The share of the rows predicted as a class that are of it, of one class or averaged over the classes."""
    return _averaged(
        truth,
        predicted,
        classes,
        by_true=0,
        by_found=1,
        average=average,
        positive=positive,
        labels=labels,
        zero_division=zero_division,
    )


@metric(
    higher_is_better=True,
    range=(0.0, 1.0),
    kinds=("label", "integer", "text"),
    source="TP / rows of the class (scikit-learn's recall_score): fbeta for an infinite beta. The recall of the "
    f"negative class, which positive names, is the specificity. {_AVERAGES}",
    degenerate="A class that is predicted, but that the truth does not hold, has 0 in the macro mean; the mean over "
    f"the classes of the truth only is balanced_accuracy. {_UNDEFINED}",
    golden=(
        Golden(
            kind="label",
            labels=("0", "1"),
            truth=("1", "1", "1", "0"),
            predicted=("1", "1", "0", "1"),
            score=2 / 3,
            note="2 TP, 1 FN.",
        ),
        Golden(
            kind="integer",
            truth=(1, 1, 0, 0),
            predicted=(1, 1, 0, 1),
            parameters={"positive": "0"},
            score=0.5,
            note="The specificity.",
        ),
        Golden(
            kind="text",
            truth=("cat", "dog", "dog"),
            predicted=("cat", "cat", "eel"),
            parameters={"average": "macro"},
            score=1 / 3,
            note="1 for cat, 0 for dog, 0 for eel, which the truth does not hold.",
        ),
        Golden(
            kind="text",
            truth=("cat", "dog", "dog", "eel"),
            predicted=("cat", "cat", "dog", "cat"),
            parameters={"average": "weighted"},
            score=0.5,
        ),
        Golden(
            kind="text",
            truth=("cat", "dog", "dog", "eel"),
            predicted=("cat", "cat", "dog", "cat"),
            parameters={"average": "micro", "labels": "cat,dog"},
            score=2 / 3,
            note="2 of 3 that are one of both.",
        ),
    ),
    trial=_TRIAL,
    aliases={
        "recall_score": {},
        "sensitivity": {"average": "binary"},
        "recall_macro": {"average": "macro"},
        "recall_micro": {"average": "micro"},
        "recall_weighted": {"average": "weighted"},
    },
)
def recall(
    truth: Array,
    predicted: Array,
    *,
    classes: tuple[str, ...],
    average: Average = "binary",
    positive: Positive = "",
    labels: Labels = (),
    zero_division: ZeroDivision = "skip",
) -> float:
    """The share of the rows of a class that are predicted so, of one class or averaged over the classes."""
    return _averaged(
        truth,
        predicted,
        classes,
        by_true=1,
        by_found=0,
        average=average,
        positive=positive,
        labels=labels,
        zero_division=zero_division,
    )


def _averaged(
    truth: Array,
    predicted: Array,
    classes: tuple[str, ...],
    *,
    by_true: float,
    by_found: float,
    average: str,
    positive: str,
    labels: tuple[str, ...],
    zero_division: str,
) -> float:
    """The share of right rows in the mean of true and predicted ones, which weigh as given, averaged over classes.

    Raises:
        PackError: The positive class is not known, or the truth does not hold one of the classes that count.
    """
    right = np.bincount(truth[truth == predicted], minlength=len(classes))
    true = np.bincount(truth, minlength=len(classes))
    found = np.bincount(predicted, minlength=len(classes))
    wanted = _chosen((_positive(positive, classes, true),) if average == "binary" else labels, classes, true)
    right, true, found = right[wanted], true[wanted], found[wanted]
    if average == "micro":
        right, true, found = (counts.sum(keepdims=True) for counts in (right, true, found))
    size = by_true * true + by_found * found
    values = np.where(size > 0, (by_true + by_found) * right / np.where(size > 0, size, 1), 0.0)
    if average == "weighted":
        return float((values * true).sum() / true.sum())
    held = true + found > 0
    if zero_division == "skip":
        return float(values[held].mean())
    return float(np.where(held, values, 1.0 if zero_division == "one" else 0.0).mean())


def _positive(positive: str, classes: tuple[str, ...], true: Array) -> str:
    """The name of the positive class.

    Raises:
        PackError: It is not known.
    """
    if positive:
        return positive
    # Of the classes in the truth: where texts are compared, a prediction must neither be an error nor mend one.
    held = [name for name, count in zip(classes, true, strict=True) if count]
    one = "1" if len(held) <= 2 and not {"0", "1"}.isdisjoint(held) else ""
    found = (yes_and_no(held) or yes_and_no([*held, "no"]) or yes_and_no(classes)).get(True, one)
    if not found:
        raise PackError(
            "With average=binary, it is not known which class of these answers is the positive one. Name it by the "
            "parameter positive, or choose another average."
        )
    return found


def _chosen(labels: tuple[str, ...], classes: tuple[str, ...], true: Array) -> list[int]:
    """Where the classes stand that count.

    Raises:
        PackError: The truth does not hold one of them, so that nothing that is predicted could score for it.
    """
    positions = {name: position for position, name in enumerate(classes)}
    for label in labels:
        if label not in positions or not true[positions[label]]:
            raise PackError(
                f"The metric is undefined for the class {label!r}, which these answers do not hold. Correct the name, "
                "or divide the answers so that each part holds it."
            )
    return [positions[label] for label in dict.fromkeys(labels)] or list(range(len(classes)))
