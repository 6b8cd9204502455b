"""Metrics of ours, each one decorated function; `get` finds one by its name."""

from __future__ import annotations

from typing import TYPE_CHECKING

from openmle_env.errors import UsageError
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
from openmle_env.graders.metrics.definition import Metric
from openmle_env.graders.metrics.examples import Golden, Trial
from openmle_env.graders.metrics.name_search import OF_A_LIBRARY, exact, search, unknown
from openmle_env.graders.metrics.parameters import AnswerColumn, Option, Parameter, bind
from openmle_env.graders.metrics.registry import metric, registered

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
    "search",
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
    """The metric called ``name``, which may be another name of it, in any spelling of its case and its separators.

    Raises:
        UnknownNameError: There is none, or it has no such parameter; close matches are named.
        UsageError: A parameter is not what it should be, or contradicts one that the name stands for.

    >>> get("accuracy").higher_is_better
    True
    >>> get("MAP@5") == get("map_at_k", {"k": 5})
    True
    """
    found = exact(name)
    if found is None:
        raise unknown(name)
    known, preset, given = registered()[found.metric], found.preset, parameters or {}
    stated = {} if found.alias in OF_A_LIBRARY else bind(known.name, known.parameters, preset)
    for key, value in bind(known.name, known.parameters, given).items():
        if key in stated and value != stated[key]:
            raise UsageError(
                f"Metric {name!r} stands for {known.name} with {key}={stated[key]}, and {key}={value} was given. "
                f"Leave {key} out, or name {known.name} to choose it."
            )
    return known.with_parameters({**preset, **given})
