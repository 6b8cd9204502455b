"""Finding a metric by its name in any spelling, or by a word that stands in what is said of it."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from openmle_env.errors import UnknownNameError, unknown_name
from openmle_env.graders.metrics.registry import aliases, registered

if TYPE_CHECKING:
    from collections.abc import Mapping

    from openmle_env.graders.metrics.definition import Metric

_RANKED_LISTS = ("box_map", "map_at_k", "grouped_map")
_MEANT = {
    "auprc": ("average_precision",),
    "aucpr": ("average_precision",),
    "prauc": ("average_precision",),
    "map": _RANKED_LISTS,
    "meanaverageprecision": _RANKED_LISTS,
    "ndcg": ("ndcg_at_k", "grouped_ndcg"),
    "crossentropy": ("log_loss", "multiclass_log_loss"),
    "f1multilabel": ("multilabel_fbeta", "multilabel_columns_fbeta"),
    "miou": ("iou", "map_iou"),
}
"""What people may mean by a name, folded, that has several meanings here or is not quite what a metric computes."""


OF_A_LIBRARY = ("top_k_accuracy_score", "mean_absolute_percentage_error", "mean_angular_error")
"""Names in libraries whose parameters are no part of the name, but that library's defaults: others may be given."""


class Found(NamedTuple):
    """What a name stands for."""

    metric: str
    preset: Mapping[str, object]
    """The parameters that it stands for."""
    alias: str = ""
    """The name as it is registered; empty where it is the metric's own."""


def exact(name: str) -> Found | None:
    """The metric and the parameters that a name stands for; None where no metric has it, or several do.

    Case means nothing, nor do blanks, hyphens and underscores, and ``@`` is read as "at".
    """
    if name in registered():
        return Found(name, {})
    if name in aliases():
        return Found(*aliases()[name], name)
    wanted = _folded(name)
    found = [Found(one, {}) for one in registered() if _folded(one) == wanted]
    found += [Found(one, preset, alias) for alias, (one, preset) in aliases().items() if _folded(alias) == wanted]
    alike = all((one.metric, one.preset) == (found[0].metric, found[0].preset) for one in found)
    return found[0] if found and alike else None


def search(text: str) -> tuple[Metric, ...]:
    """The metrics that have a text in a name, their description or their formula, sorted by name; spelling aside.

    >>> [metric.name for metric in search("Cohen")]
    ['kappa']
    """
    wanted = _folded(text)
    found = (
        metric
        for _, metric in sorted(registered().items())
        if any(wanted in _folded(said) for said in (metric.name, *metric.aliases, metric.description, metric.source))
    )
    return tuple(found) if wanted else ()


def unknown(name: str) -> UnknownNameError:
    """The error for a name that no metric has, with those that may be meant."""
    meant = _MEANT.get(_folded(name))
    if meant is None:
        hint = "`openmle metrics` lists them, and `openmle metrics WORD` those with a word."
        return unknown_name("metric", name, [*registered(), *aliases()], hint=hint)
    known = registered()
    lines = "".join(f"\n  {one}: {known[one].description}" for one in meant)
    return UnknownNameError(f"There is no metric {name!r}. Did you mean {' or '.join(map(repr, meant))}?{lines}")


def _folded(name: str) -> str:
    return re.sub(r"[-_\s]+", "", name.casefold().replace("@", "at"))
