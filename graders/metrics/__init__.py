"""Metrics of ours, each one decorated function; `get` finds one by its name."""

from __future__ import annotations

from typing import TYPE_CHECKING

from openmle_env.errors import unknown_name
from openmle_env.graders.metrics import (  # registers their metrics
    agreement,
    bleu,
    boxes,
    chrf,
    class_probabilities,
    classification,
    clustering,
    correlation,
    curves,
    edit_distance,
    f_measure,
    forecasting,
    geometry,
    grouped_ranking,
    guesses,
    images,
    item_orders,
    label_ranking,
    mask_precision,
    masks,
    multilabel,
    multilabel_columns,
    perplexity,
    probabilities,
    ranking,
    regression,
    relative_errors,
    subgroup_bias,
    survival,
    text,
    uncertainty,
    wrmsse,
)
from openmle_env.graders.metrics.examples import Golden, Trial
from openmle_env.graders.metrics.parameters import AnswerColumn, Option, Parameter
from openmle_env.graders.metrics.registry import Metric, aliases, metric, registered

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = [
    "AnswerColumn",
    "Golden",
    "Metric",
    "Option",
    "Parameter",
    "Trial",
    "agreement",
    "bleu",
    "boxes",
    "chrf",
    "class_probabilities",
    "classification",
    "clustering",
    "correlation",
    "curves",
    "edit_distance",
    "f_measure",
    "forecasting",
    "geometry",
    "get",
    "grouped_ranking",
    "guesses",
    "images",
    "item_orders",
    "label_ranking",
    "mask_precision",
    "masks",
    "metric",
    "multilabel",
    "multilabel_columns",
    "names",
    "perplexity",
    "probabilities",
    "ranking",
    "regression",
    "relative_errors",
    "subgroup_bias",
    "survival",
    "text",
    "uncertainty",
    "wrmsse",
]


def names() -> tuple[str, ...]:
    """Names of every metric, sorted."""
    return tuple(sorted(registered()))


def get(name: str, parameters: Mapping[str, object] | None = None) -> Metric:
    """The metric called ``name``, which may be another name of it.

    Raises:
        UnknownNameError: There is none, or it has no such parameter; close matches are named.
        UsageError: A parameter is not what it should be.

    >>> get("accuracy").higher_is_better
    True
    """
    found, preset = aliases().get(name, (name, {}))
    known = registered()
    if found not in known:
        raise unknown_name("metric", name, [*known, *aliases()], hint="`openmle metrics` lists them.")
    return known[found].with_parameters({**preset, **(parameters or {})})
