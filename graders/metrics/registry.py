"""The decorator that makes a metric of a function of arrays, and the table of those that were made."""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, Literal

from openmle_env.errors import UsageError
from openmle_env.graders.metrics.definition import MANY, Metric
from openmle_env.graders.metrics.parameters import declared

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from openmle_env.graders.metrics.examples import Golden, Trial
    from openmle_env.types import ColumnKind

_METRICS: dict[str, Metric] = {}
_ALIASES: dict[str, tuple[str, Mapping[str, object]]] = {}


def registered() -> Mapping[str, Metric]:
    """Every metric by its name."""
    return MappingProxyType(_METRICS)


def aliases() -> Mapping[str, tuple[str, Mapping[str, object]]]:
    """Every other name, with the metric and the parameters that it stands for."""
    return MappingProxyType(_ALIASES)


def metric(
    *,
    higher_is_better: bool,
    range: tuple[float, float],  # noqa: A002  the word that the tables of metrics use; nothing here needs the builtin
    kinds: tuple[ColumnKind, ...],
    source: str,
    degenerate: str,
    golden: tuple[Golden, ...],
    trial: Trial,
    truth: Literal["same", "binary"] | ColumnKind = "same",
    targets: Literal["column", "columns"] = "column",
    arity: tuple[int, int] = (1, MANY),
    answered: int | None = None,
    aliases: Mapping[str, Mapping[str, object]] | None = None,
    check: Callable[..., Iterable[tuple[int, str]]] | None = None,
    ordered_by: str = "",
    one_class: str = "",
    alike: bool = True,
    any_names: bool = False,
) -> Callable[[Callable[..., float]], Metric]:
    """Register the decorated function as the metric of its name; its docstring's first line describes it.

    The function gets the truth and the predictions of the rows that are scored, as arrays in the types of
    `openmle_env.graders.rows`: of shape (rows,) for ``targets="column"``, where it is called for each target column
    and the mean is the score, and of shape (rows, columns) for ``"columns"``. A ``binary`` truth is 0 and 1, and so
    are predictions of kind ``label`` then. Its keywords are parameters (see `openmle_env.graders.metrics.parameters`)
    and, where it names them:

    - ``classes``: then both arrays are codes (int64) into these names: the task's labels in the task's order, or, for
      integers and texts, all values that occur, sorted;
    - ``names``: the names of the target columns.

    It raises `PackError` where the metric is undefined on the truth, whatever was predicted, and returns a number else.

    Args:
        higher_is_better: The direction.
        range: The lowest and highest value.
        kinds: The kinds of prediction that it takes, the usual one first.
        source: The formula, and where it comes from.
        degenerate: What it says where the formula is undefined.
        golden: Worked examples.
        trial: Three submissions that show the direction.
        truth: How the answers' target columns are read.
        targets: Whether the function sees one target column, or all.
        arity: The least and greatest number of target columns.
        answered: How many of the first target columns the answers hold; all, if None.
        aliases: Other names, with the parameters that each stands for.
        check: Called with the predictions of all rows and those parameters that it names; yields the position of each
            prediction of the wrong form, with the reason in a few words ("an odd number of fields").
        ordered_by: The parameter that, where it is given, makes the order of the classes count.
        one_class: The metric that is meant where the target columns are the classes of one question.
        alike: Whether true cells have the form of predicted ones.
        any_names: Whether a predicted class may have any name, as a cluster has.

    Raises:
        UsageError: The name is taken.
    """

    def register(function: Callable[..., float]) -> Metric:
        made = Metric(
            name=function.__name__,
            function=function,
            higher_is_better=higher_is_better,
            range=range,
            kinds=kinds,
            truth=truth,
            targets=targets,
            arity=arity,
            answered=answered,
            parameters=declared(function),
            aliases=dict(aliases or {}),
            source=source,
            degenerate=degenerate,
            golden=golden,
            trial=trial,
            check=check,
            ordered_by=ordered_by,
            one_class=one_class,
            alike=alike,
            any_names=any_names,
        )
        for name in (made.name, *made.aliases):
            if name in _METRICS or name in _ALIASES:
                raise UsageError(f"There is already a metric {name!r}; give the new one another name.")
        for name, parameters in made.aliases.items():
            made.with_parameters(parameters)
            _ALIASES[name] = (made.name, parameters)
        _METRICS[made.name] = made
        return made

    return register
