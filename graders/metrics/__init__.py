"""Metrics of ours, each one decorated function; `get` finds one by its name."""

from __future__ import annotations

from openmle_env.errors import unknown_name
from openmle_env.graders.metrics import classification  # registers its metrics
from openmle_env.graders.metrics.registry import Golden, Metric, metric, registered

__all__ = ["Golden", "Metric", "classification", "get", "metric", "names"]


def names() -> tuple[str, ...]:
    """Names of every metric, sorted."""
    return tuple(sorted(registered()))


def get(name: str) -> Metric:
    """The metric called ``name``.

    Raises:
        UnknownNameError: There is none; close matches are named.

    >>> get("accuracy").higher_is_better
    True
    """
    found = registered().get(name)
    if found is None:
        raise unknown_name("metric", name, registered())
    return found
