"""``openmle metrics``: what metrics there are, and all that is said of one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from openmle_env.commands.console import AsJson, console, emit, say, table
from openmle_env.errors import UnknownNameError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from openmle_env.graders.metrics import Metric


def metrics(
    name: Annotated[
        str | None,
        typer.Argument(
            metavar="[NAME|WORD]",
            help="A metric, by any of its names; or a word, to list the metrics that have it in a name or in what is "
            "said of them; all if left out.",
        ),
    ] = None,
    *,
    as_json: AsJson = False,
) -> None:
    """List the metrics, or show one: formula, parameters, other names, an example to copy."""
    from openmle_env.graders import metric_words as words  # numpy
    from openmle_env.graders import metrics as known

    every = [known.get(one) for one in known.names()]
    if name is not None:
        try:
            metric = known.get(name)
        except UnknownNameError:
            every = [*known.search(name)]
            if not every:
                raise
            say(f"No metric is called {name!r}. These have it in a name or in what is said of them:")
        else:
            if as_json:
                emit({**words.facts(metric), "given": dict(metric.given)})
            else:
                console().print("\n".join(_lines(metric)))
            return
    if as_json:
        emit([words.facts(metric) for metric in every])
        return
    rows = [
        (
            metric.name,
            "↑" if metric.higher_is_better else "↓",
            ", ".join(metric.aliases),
            ", ".join(one.name for one in metric.parameters),
            metric.description,
        )
        for metric in every
    ]
    table("", ("metric", "", "other names", "parameters", "what it is"), rows)


def _lines(metric: Metric) -> Iterator[str]:
    from openmle_env.graders import metric_words as words  # numpy

    given = f" with {words.settings(metric.given)}" if metric.given else ""
    yield f"{metric.name}{given}: {metric.description}"
    yield ""
    yield f"{words.direction(metric)}; {words.span(metric)}; targets of kind {', '.join(metric.kinds)}"
    yield words.submission_words(metric)
    yield f"Formula: {metric.source}"
    yield f"Degenerate cases: {metric.degenerate}"
    if metric.aliases:
        yield "Other names: " + ", ".join(
            f"{name} ({words.settings(preset)})" if preset else name for name, preset in metric.aliases.items()
        )
    yield "Parameters (--param NAME=VALUE):" if metric.parameters else "It has no parameters."
    for line in words.parameter_lines(metric):
        yield f"  {line}"
    yield ""
    yield from _example(metric)


def _example(metric: Metric) -> Iterator[str]:
    from openmle_env.graders.metric_example import MAX_ROWS, as_csv, example  # numpy

    shown = example(metric)
    yield f"An example, which scores {shown.score!r}{f': {shown.note}' if shown.note else ''}"
    for name, columns in (("answers.csv", shown.answers), ("submission.csv", shown.submission)):
        yield f"  {name}"
        lines = as_csv(columns).splitlines()
        yield from (f"    {line}" for line in lines[: MAX_ROWS + 1])
        if len(lines) > MAX_ROWS + 1:
            yield f"    ... {shown.rows:,} rows in all"
    yield f"  {shown.command}"
