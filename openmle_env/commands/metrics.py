"""``openmle metrics``: what metrics there are, and all that is said of one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from openmle_env.commands.console import AsJson, console, emit, table

if TYPE_CHECKING:
    from collections.abc import Iterator

    from openmle_env.graders.metrics import Metric


def metrics(
    name: Annotated[
        str | None, typer.Argument(metavar="[NAME]", help="A metric, by any of its names; all if left out.")
    ] = None,
    *,
    as_json: AsJson = False,
) -> None:
    """List the metrics, or show one: formula, parameters, other names, an example."""
    from openmle_env.graders import metric_words as words  # numpy
    from openmle_env.graders import metrics as known

    if name is not None:
        metric = known.get(name)
        if as_json:
            emit({**words.facts(metric), "given": dict(metric.given)})
        else:
            console().print("\n".join(_lines(metric)))
        return
    every = [known.get(one) for one in known.names()]
    if as_json:
        emit([words.facts(metric) for metric in every])
        return
    rows = [
        (
            metric.name,
            "↑" if metric.higher_is_better else "↓",
            ", ".join(one.name for one in metric.parameters),
            metric.description,
        )
        for metric in every
    ]
    table("", ("metric", "", "parameters", "what it is"), rows)


def _lines(metric: Metric) -> Iterator[str]:
    from openmle_env.graders import metric_words as words  # numpy

    given = f" with {words.settings(metric.given)}" if metric.given else ""
    yield f"{metric.name}{given}: {metric.description}"
    yield ""
    yield f"{words.direction(metric)}; {words.span(metric)}; targets of kind {', '.join(metric.kinds)}"
    yield f"Formula: {metric.source}"
    yield f"Degenerate cases: {metric.degenerate}"
    if metric.aliases:
        yield "Other names: " + ", ".join(
            f"{name} ({words.settings(preset)})" if preset else name for name, preset in metric.aliases.items()
        )
    yield "Parameters (--param NAME=VALUE):" if metric.parameters else "It has no parameters."
    for line in words.parameter_lines(metric):
        yield f"  {line}"
