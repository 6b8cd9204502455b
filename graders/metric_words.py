"""A metric in words and as plain values: for specifications, for the command line, and for the page of all metrics."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from openmle_env.graders.metrics.parameters import AnswerColumn

if TYPE_CHECKING:
    from collections.abc import Mapping

    from openmle_env.graders.metrics import Metric, Parameter


def family(metric: Metric) -> str:
    """Name of the module that it stands in.

    >>> from openmle_env.graders import metrics
    >>> family(metrics.get("accuracy"))
    'classification'
    """
    return metric.function.__module__.rpartition(".")[2]


def direction(metric: Metric) -> str:
    """In two words and an arrow."""
    return "↑ higher is better" if metric.higher_is_better else "↓ lower is better"


def span(metric: Metric) -> str:
    """The values that it can take.

    >>> from openmle_env.graders import metrics
    >>> span(metrics.get("accuracy"))
    '0 to 1'
    """
    low, high = metric.range
    if math.isinf(low) and math.isinf(high):
        return "any number"
    if math.isinf(high):
        return f"at least {low:g}"
    return f"at most {high:g}" if math.isinf(low) else f"{low:g} to {high:g}"


def value(given: object) -> str:
    """A parameter's value as it is written on a command line.

    >>> value(0.5), value((1.0, 2.0)), value(True), value(None), value("")
    ('0.5', '1,2', 'true', 'none', "''")
    """
    if given is None:
        return "none"
    if isinstance(given, bool):
        return "true" if given else "false"
    if isinstance(given, float):
        return repr(int(given)) if given.is_integer() and abs(given) < 1e15 else repr(given)
    if isinstance(given, list | tuple):
        return ",".join(value(item) for item in given) or "none"
    return str(given) if str(given).strip() else repr(given)


def settings(given: Mapping[str, object]) -> str:
    """Parameters that were given, in one line.

    >>> settings({"k": 5, "beta": 0.5})
    'k=5, beta=0.5'
    """
    return ", ".join(f"{name}={value(one)}" for name, one in given.items())


def default(parameter: Parameter) -> str:
    """What holds where a parameter is not given."""
    if parameter.mark.needed:
        return "has to be given"
    return "none" if isinstance(parameter.mark, AnswerColumn) else value(parameter.default)


def parameter_lines(metric: Metric) -> list[str]:
    """One line for each parameter: its name, what it means, what it should be, and its default."""
    return [
        f"{parameter.name}: {parameter.mark.description} It is {parameter.expected}; default: {default(parameter)}."
        for parameter in metric.parameters
    ]


def usage_lines(metric: Metric) -> list[str]:
    """What a submission holds, and the parameters, for people who have to write them; one item a line."""
    lines = [f"Parameters of {metric.name}:", *(f"  {line}" for line in parameter_lines(metric))]
    return [submission_words(metric), *(lines if metric.parameters else [])]


def submission_words(metric: Metric) -> str:
    """Which columns a submission has, in a sentence.

    >>> from openmle_env.graders import metrics
    >>> submission_words(metrics.get("accuracy"))
    'A submission has the id and one column or more, named as in the answers.'
    """
    least, most = metric.arity
    count = f"{least} columns" if least == most else f"{least} columns or more"
    if least == 1:
        count = "one column" if most == 1 else "one column or more"
    named = "named as in the answers"
    if metric.answered is not None:
        named = f"the first {named}" if metric.answered else "which the answers lack"
    text = f"A submission has the id and {count}, {named}."
    for one in metric.parameters:
        if isinstance(one.mark, AnswerColumn) and one.mark.replaces_targets:
            if one.mark.kind == "class":
                text += f" Where one column of the answers holds the class: --param {one.name}=COLUMN."
            else:
                text += (
                    f" Or under any name: --param {one.name}=COLUMN is then the truth, and --target the predictions."
                )
    return text


def facts(metric: Metric) -> dict[str, Any]:
    """All that is said of it, as JSON values; a range without a bound has null there."""
    return {
        "name": metric.name,
        "description": metric.description,
        "family": family(metric),
        "higher_is_better": metric.higher_is_better,
        "range": [bound if math.isfinite(bound) else None for bound in metric.range],
        "kinds": list(metric.kinds),
        "source": metric.source,
        "degenerate": metric.degenerate,
        "parameters": [
            {
                "name": parameter.name,
                "kind": parameter.kind,
                "default": list(parameter.default) if isinstance(parameter.default, tuple) else parameter.default,
                "needed": parameter.mark.needed,
                "expected": parameter.expected,
                "description": parameter.mark.description,
            }
            for parameter in metric.parameters
        ],
        "aliases": {name: dict(given) for name, given in metric.aliases.items()},
    }
