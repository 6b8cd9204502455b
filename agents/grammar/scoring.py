"""How a program scores its own held-out predictions: the task's metric, in scikit-learn's words."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping


class Goal(StrEnum):
    """What stands in the target columns of a submission."""

    LABELS = "labels"
    """Each column holds a class."""
    PROBABILITIES = "probabilities"
    """Each column holds the probability that its own yes-or-no question is a yes."""
    SHARES = "shares"
    """The columns are the classes of one question, and hold their probabilities."""
    NUMBERS = "numbers"
    """Each column holds a number."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Scoring:
    """One metric as source text."""

    name: str
    goal: Goal
    """What it scores; a metric of probabilities may serve shares as well."""
    function: str
    """A function of ``sklearn.metrics``, or empty where numpy is enough."""
    expression: str
    """The score of ``guess`` against ``truth``. Probabilities have one column for each of ``classes``."""
    many_classes: bool = True
    """Whether it works for more than two classes."""
    balanced: bool = False
    """Whether rare classes count more than their share, so that learning should weigh them up."""
    logarithmic: bool = False
    """Whether it compares logarithms, so that those should be learned."""


def _labels(name: str, function: str, arguments: str = "", *, balanced: bool = False) -> Scoring:
    expression = f"{function}(truth, guess{arguments})"
    return Scoring(name=name, goal=Goal.LABELS, function=function, expression=expression, balanced=balanced)


def _numbers(name: str, expression: str, function: str = "", *, logarithmic: bool = False) -> Scoring:
    return Scoring(name=name, goal=Goal.NUMBERS, function=function, expression=expression, logarithmic=logarithmic)


def _probabilities(name: str, expression: str, function: str = "", *, many_classes: bool = False) -> Scoring:
    return Scoring(
        name=name, goal=Goal.PROBABILITIES, function=function, expression=expression, many_classes=many_classes
    )


_WHOLE = "truth.astype(float).astype(int), guess.astype(float).astype(int)"
_ALL = (
    _labels("accuracy", "accuracy_score"),
    _labels("balanced_accuracy", "balanced_accuracy_score", balanced=True),
    _labels("f1", "f1_score", ", pos_label=classes[-1], zero_division=0", balanced=True),
    _labels("f1_macro", "f1_score", ', average="macro", zero_division=0', balanced=True),
    _labels("f1_micro", "f1_score", ', average="micro", zero_division=0'),
    _labels("f1_weighted", "f1_score", ', average="weighted", zero_division=0'),
    _labels("matthews_correlation", "matthews_corrcoef", balanced=True),
    _labels("cohen_kappa", "cohen_kappa_score", balanced=True),
    Scoring(
        name="quadratic_weighted_kappa",
        goal=Goal.LABELS,
        function="cohen_kappa_score",
        expression=f'cohen_kappa_score({_WHOLE}, weights="quadratic")',
    ),
    _probabilities("roc_auc", "roc_auc_score(truth == classes[-1], guess[:, -1])", "roc_auc_score"),
    _probabilities(
        "average_precision", "average_precision_score(truth == classes[-1], guess[:, -1])", "average_precision_score"
    ),
    _probabilities("brier", "np.mean(((truth == classes[-1]) - guess[:, -1]) ** 2)"),
    _probabilities(
        "log_loss",
        "-np.mean(np.log(np.clip(guess[truth[:, None] == classes], 1e-15, 1)))",
        many_classes=True,
    ),
    _probabilities(
        "multiclass_log_loss",
        "-np.mean(np.log(np.clip(guess[truth[:, None] == classes], 1e-15, 1)))",
        many_classes=True,
    ),
    _numbers("rmse", "np.sqrt(np.mean((truth - guess) ** 2))"),
    _numbers("mse", "np.mean((truth - guess) ** 2)"),
    _numbers("mae", "np.mean(np.abs(truth - guess))"),
    _numbers("median_absolute_error", "np.median(np.abs(truth - guess))"),
    _numbers("mape", "np.mean(np.abs(truth - guess) / np.maximum(np.abs(truth), 1e-9))"),
    _numbers("rmsle", "np.sqrt(np.mean((np.log1p(truth) - np.log1p(guess)) ** 2))", logarithmic=True),
    _numbers("r2", "r2_score(truth, guess)", "r2_score"),
    _numbers("pearson", "np.corrcoef(truth, guess)[0, 1]"),
    _numbers("spearman", "pd.Series(truth).rank().corr(pd.Series(guess).rank())"),
)
SCORINGS: Mapping[str, Scoring] = {scoring.name: scoring for scoring in _ALL}
"""The metrics that programs compute themselves, by a name that `openmle_env.graders.metrics.get` knows."""


def scoring_for(metric: str, parameters: Mapping[str, object]) -> Scoring | None:
    """How programs compute a task's metric, whose specification gives its own name and its parameters."""
    return _by_metric().get(_key(metric, parameters))


@cache
def _by_metric() -> Mapping[tuple[str, str], Scoring]:
    from openmle_env.graders import metrics  # with numpy

    found = {name: metrics.get(name) for name in SCORINGS}
    return {_key(metric.name, metric.given): SCORINGS[name] for name, metric in found.items()}


def _key(metric: str, parameters: Mapping[str, object]) -> tuple[str, str]:
    return metric, repr(sorted(parameters.items()))  # a value may be a list, which has no hash


def default_scoring(goal: Goal) -> Scoring:
    """The metric that stands in where the task's own one is not among these."""
    if goal is Goal.LABELS:
        return SCORINGS["accuracy"]
    return SCORINGS["rmse" if goal is Goal.NUMBERS else "log_loss"]
