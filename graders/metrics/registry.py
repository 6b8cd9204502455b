"""What a metric is, and the decorator that makes one of a function of arrays."""

from __future__ import annotations

import logging
import math
from dataclasses import dataclass, field, replace
from heapq import nsmallest
from inspect import getdoc, signature
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from openmle_env.errors import PackError, UsageError
from openmle_env.graders.echo import MAX_EXAMPLES, show
from openmle_env.graders.loading.cells import convert, yes_and_no
from openmle_env.graders.metrics.parameters import AnswerColumn, Parameter, bind, declared
from openmle_env.graders.rows import Array, Rows
from openmle_env.graders.scored import Scored
from openmle_env.types import Column, ColumnKind, Problem, ResultStatus, SubmissionSchema

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from openmle_env.graders.metrics.examples import Golden, Trial, Values
    from openmle_env.sandbox.protocol import CancelToken

_log = logging.getLogger(__name__)

ROUNDING = 1e-9
"""How far a value may lie outside the range by rounding; it is then the bound."""

HUGE = 1e100
"""Predictions beyond this, and not the task, are to blame where a metric overflows."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Metric:
    """A hidden metric of ours. Its value is finite, or computing it raises."""

    name: str
    function: Callable[..., float]
    """Takes the truth, the predictions, and keywords; see `metric`."""
    higher_is_better: bool
    range: tuple[float, float]
    """The lowest and the highest value that there can be; infinite where there is no bound."""
    kinds: tuple[ColumnKind, ...]
    """The kinds of target that it is defined for, the usual one first."""
    truth: Literal["same", "binary"] | ColumnKind
    """How the answers' target columns are read: as the predictions are, as 0 and 1, or as this kind.

    Where it is ``binary``, predictions of kind ``label`` are 0 and 1 too, 1 for the label that is a yes.
    """
    targets: Literal["column", "columns"]
    """Whether the function sees one target column (several are then averaged) or all of them."""
    arity: tuple[int, int]
    """The least and the greatest number of target columns."""
    answered: int | None
    """How many of the first target columns the answers hold; all, if None."""
    parameters: tuple[Parameter, ...]
    aliases: Mapping[str, Mapping[str, object]]
    """Other names, each with the parameters that it stands for."""
    source: str
    """The formula, and where it comes from."""
    degenerate: str
    """What it says where the formula is undefined (one class only, no variance, empty sets)."""
    golden: tuple[Golden, ...]
    """Worked examples; a test computes each."""
    trial: Trial
    """Shows the direction; a test computes it."""
    check: Callable[..., Iterable[tuple[int, str]]] | None = None
    """Yields the position of each prediction that has not the form that it should have, and why."""
    ordered_by: str = ""
    """The parameter that, where it is given, makes the order of the classes count; empty if there is none."""
    given: Mapping[str, Any] = field(default_factory=dict)
    """The parameters that are not left at their defaults."""

    @property
    def description(self) -> str:
        """One sentence for people."""
        return (getdoc(self.function) or "").partition("\n")[0]

    @property
    def orders_classes(self) -> bool:
        """Whether the order of the classes counts, so that somebody has to say it."""
        return self.ordered_by in self.given

    def with_parameters(self, given: Mapping[str, object]) -> Metric:
        """The same metric with parameters, over those that it was given before.

        Raises:
            UsageError: There is no such parameter, or a value is not what it should be.
        """
        if not given:
            return self
        defaults = {parameter.name: parameter.default for parameter in self.parameters}
        bound = {**self.given, **bind(self.name, self.parameters, given)}
        return replace(self, given={name: value for name, value in bound.items() if value != defaults[name]})

    def accepts(self, schema: SubmissionSchema) -> None:
        """Refuse targets that this metric is not defined for.

        Raises:
            PackError: A target is of another kind, there are too few or too many, or a parameter is missing.
        """
        least, most = self.arity
        count = len(schema.targets)
        if not least <= count <= most:
            wanted = f"{least}" if least == most else f"at least {least}" if most >= _MANY else f"{least} to {most}"
            raise PackError(
                f"Metric {self.name} needs {wanted} target column{'s' if wanted != '1' else ''}; the submission has "
                f"{count}: {', '.join(target.name for target in schema.targets)}. Choose another metric."
            )
        for target in schema.targets:
            if target.kind not in self.kinds:
                raise PackError(
                    f"Metric {self.name} takes targets of kind {', '.join(sorted(self.kinds))}; "
                    f"column {target.name!r} is of kind {target.kind}. Correct that kind, or choose another metric."
                )
            if self.truth == "binary" and target.kind == "label" and not yes_and_no(target.labels):
                raise PackError(
                    f"Metric {self.name} takes labels that are a yes and a no, such as 0 and 1; column {target.name!r} "
                    f"has {', '.join(target.labels)}. Correct them, or choose another metric."
                )
        self.need_parameters()
        self.truth_columns(schema)

    def need_parameters(self) -> None:
        """Refuse to go without a parameter that has no default.

        Raises:
            PackError: One was not given.
        """
        for parameter in self.parameters:
            if parameter.mark.needed and parameter.name not in self.given:
                raise PackError(
                    f"Metric {self.name} needs the parameter {parameter.name}, {parameter.expected}. "
                    f"Its meaning: {parameter.mark.description}"
                )

    def truth_columns(self, schema: SubmissionSchema) -> tuple[Column, ...]:
        """The columns that it needs of the answers, and how their cells are read.

        Raises:
            PackError: A column would have to be read in two ways.
        """
        columns: dict[str, Column] = {}
        replaced = False
        for parameter in self.parameters:
            if isinstance(parameter.mark, AnswerColumn) and parameter.name in self.given:
                given = self.given[parameter.name]
                for name in given if parameter.mark.many else (given,):
                    self._add(columns, _side_column(name, parameter.mark, schema))
                replaced |= parameter.mark.replaces_targets
        if not replaced:
            for target in schema.targets[: self.answered]:
                self._add(columns, self._truth_column(target))
        return tuple(columns.values())

    def _add(self, columns: dict[str, Column], column: Column) -> None:
        before = columns.setdefault(column.name, column)
        if (before.kind, before.labels) != (column.kind, column.labels):
            raise PackError(
                f"Metric {self.name} would read the column {column.name!r} of the answers as {before.kind} and as "
                f"{column.kind}: it is a target, or two parameters name it. Name another column."
            )

    def _truth_column(self, target: Column) -> Column:
        if self.truth == "same":
            return target
        if self.truth == "binary":
            return Column(name=target.name, kind="label", labels=("0", "1"))
        # An empty list, mask or reference is a true answer where the metric takes texts.
        return Column(name=target.name, kind=self.truth, blank=self.truth == "text")

    def problems(self, predicted: Rows, truth: Rows) -> tuple[Problem, ...]:
        """What is wrong with the form of the predictions, of which all rows are looked at.

        Made from the predictions and the parameters, and, of the truth, from columns that parameters name only.
        """
        if self.check is None:
            return ()
        wanted = signature(self.check).parameters
        found = []
        for names, _, values, keywords in self._calls(truth, predicted, for_check=True):
            faults = list(self.check(values, **{key: value for key, value in keywords.items() if key in wanted}))
            if faults:
                found.append(_problem(names, faults, predicted.ids))
        return tuple(found)

    def __call__(self, truth: Rows, predicted: Rows) -> float:
        """The value for predictions that are aligned with the truth.

        Raises:
            PackError: It is undefined on these answers.
            OverflowError: Predictions are so large that it has no finite value.
        """
        if not len(truth) or not np.array_equal(truth.ids, predicted.ids):
            raise PackError(f"Metric {self.name} needs the same ids, at least one, in truth and prediction.")
        self.need_parameters()
        with np.errstate(all="ignore"):  # what is not finite is found below, whatever it came from
            values = [
                float(self.function(true, found, **rest)) for _, true, found, rest in self._calls(truth, predicted)
            ]
            value = math.fsum(values) / len(values) if all(map(math.isfinite, values)) else math.nan
        low, high = self.range
        slack = ROUNDING * max(1.0, *(abs(bound) for bound in self.range if math.isfinite(bound)), 1.0)
        if math.isfinite(value) and low - slack <= value <= high + slack:
            return min(max(value, low), high)
        if any(np.abs(array).max() > HUGE for array in predicted.values.values() if array.dtype == np.float64):
            raise OverflowError(f"Metric {self.name} has no finite value for predictions beyond {HUGE:g}.")
        raise PackError(f"Metric {self.name} gave {value!r} on these {len(truth):,} answers; it has no value there.")

    def score(
        self, truth: Rows, predicted: Rows, chosen: Sequence[int] | Array, *, cancel: CancelToken | None = None
    ) -> Scored:
        """The value on the chosen rows, as a grader takes it: a fault of the task's, instead of an exception.

        Nothing runs for it that ``cancel`` could end.
        """
        del cancel
        try:
            return Scored(status=ResultStatus.SUCCESS, score=self(truth.take(chosen), predicted.take(chosen)))
        except PackError as error:
            _log.info("metric %s is undefined on the answers", self.name)
            return Scored(
                status=ResultStatus.METRIC_OR_ANSWER_MISSING,
                message=f"The metric {self.name} is undefined on the task's answers. This is a fault of the task.",
                details=str(error),
            )
        except OverflowError:
            return Scored(
                status=ResultStatus.SUBMISSION_INVALID,
                message=f"Predictions are so large that the metric {self.name} overflows. "
                f"Write numbers of the size of the targets, at most {HUGE:g}.",
            )
        except (ArithmeticError, LookupError, TypeError, ValueError) as error:
            _log.info("metric %s failed: %s", self.name, type(error).__name__)  # its message may quote an answer
            return Scored(
                status=ResultStatus.SCORING_FAILED,
                message=f"The metric {self.name} failed. This is a fault of the task, not of the submission.",
                details=f"{type(error).__name__}: {error}",
            )

    def _calls(
        self, truth: Rows, predicted: Rows, *, for_check: bool = False
    ) -> Iterator[tuple[tuple[str, ...], Any, Any, dict[str, Any]]]:
        """Names, truth, predictions and keywords of each call of the function (or of ``check``, without the truth)."""
        keywords: dict[str, Any] = {}
        for parameter in self.parameters:
            if parameter.kind == "column" and parameter.name in self.given:
                keywords[parameter.name] = truth.values[self.given[parameter.name]]
            elif parameter.kind == "columns" and parameter.name in self.given:
                keywords[parameter.name] = _stack([truth.values[name] for name in self.given[parameter.name]])
            elif parameter.name in self.given or for_check:
                keywords[parameter.name] = self.given.get(parameter.name, parameter.default)
        names = tuple(predicted.columns)
        wanted = signature(self.function).parameters
        if "names" in wanted:
            keywords["names"] = names
        groups = [(name,) for name in names] if self.targets == "column" else [names]
        for group in groups:
            found = [self._predictions(predicted, name) for name in group]
            true = [] if for_check else [truth.values[name] for name in group[: self.answered] if name in truth.values]
            rest = dict(keywords)
            if "classes" in wanted and true:
                true[0], found[0], rest["classes"] = _encode(true[0], found[0], predicted.columns[group[0]])
            if self.targets == "column":
                yield group, true[0] if true else None, found[0], rest
            else:
                yield group, _stack(true, single=self.answered == 1), _stack(found), rest

    def _predictions(self, predicted: Rows, name: str) -> Array:
        column, values = predicted.columns[name], predicted.values[name]
        if self.truth == "binary" and column.kind == "label":  # as the truth: 1 is the yes, wherever it is listed
            return np.asarray(values == column.labels.index(yes_and_no(column.labels)[True]), dtype=np.int32)
        return values

    def example(self, golden: Golden) -> tuple[Metric, Rows, Rows]:
        """The metric with the example's parameters, its truth and its predictions, read as cells are."""
        used = self.with_parameters(golden.parameters)
        truth, predicted = _by_column(golden.truth), _by_column(golden.predicted)
        names = golden.names or (
            ("target",) if len(predicted) == 1 else tuple(f"target{i}" for i in range(len(predicted)))
        )
        kind = golden.kind or self.kinds[0]
        targets = [Column(name=name, kind=kind, labels=golden.labels, blank=kind == "text") for name in names]
        schema = SubmissionSchema(id=Column(name="id", kind="integer"), targets=tuple(targets))
        used.accepts(schema)
        columns = {column.name: column for column in used.truth_columns(schema)}
        cells = {**dict(zip(names, truth, strict=False)), **golden.answers}
        answers = {name: cells[name] for name in columns}
        ids = np.arange(len(golden.predicted))
        return (
            used,
            _read(schema.id, ids, columns, answers),
            _read(schema.id, ids, dict(zip(names, targets, strict=True)), dict(zip(names, predicted, strict=True))),
        )


def _by_column(values: Values) -> list[list[Any]]:
    rows = [value if isinstance(value, tuple) else (value,) for value in values]
    return [list(column) for column in zip(*rows, strict=True)]


def _read(identity: Column, ids: Array, columns: Mapping[str, Column], values: Mapping[str, Sequence[object]]) -> Rows:
    arrays = {}
    for name, column in columns.items():
        arrays[name], faults = convert([str(value) for value in values[name]], column)
        if faults:
            raise UsageError(f"The example's column {name!r} is not {column.kind}: {faults}.")
    return Rows(identity, ids, columns, arrays)


def _side_column(name: str, mark: AnswerColumn, schema: SubmissionSchema) -> Column:
    if mark.kind == "binary":
        return Column(name=name, kind="label", labels=("0", "1"))
    if mark.kind == "class":
        return Column(name=name, kind="label", labels=tuple(target.name for target in schema.targets))
    return Column(name=name, kind=mark.kind, blank=mark.kind == "text")


def _encode(truth: Array, predicted: Array, column: Column) -> tuple[Array, Array, tuple[str, ...]]:
    """Truth and predictions as codes (int64) into the classes: the task's labels, or all that occur, sorted."""
    if column.kind == "label":
        return truth.astype(np.int64), predicted.astype(np.int64), column.labels
    classes, codes = np.unique(np.concatenate((truth, predicted)), return_inverse=True)
    return codes[: len(truth)], codes[len(truth) :], tuple(str(value) for value in classes)


def _stack(arrays: Sequence[Array], *, single: bool = False) -> Array | None:
    if not arrays:
        return None
    return arrays[0] if single else np.stack(arrays, axis=1)


def _problem(names: tuple[str, ...], faults: list[tuple[int, str]], ids: Array) -> Problem:
    # By their ids: the order of the rows is that of the answers, and may tell of them.
    first = nsmallest(MAX_EXAMPLES, faults, key=lambda fault: ids[fault[0]])
    examples = tuple(f"id {show(str(ids[row]))}: {why}" for row, why in first)
    where = f"Column {show(names[0])}" if len(names) == 1 else "Target columns"
    rest = f" and {len(faults) - len(examples):,} more" if len(faults) > len(examples) else ""
    return Problem(
        code="wrong_form",
        message=f"{where}: {len(faults):,} of {len(ids):,} rows have not the form that the metric reads. "
        f"See {'; '.join(examples)}{rest}.",
        count=len(faults),
        examples=examples,
    )


_MANY = 1_000_000
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
    arity: tuple[int, int] = (1, _MANY),
    answered: int | None = None,
    aliases: Mapping[str, Mapping[str, object]] | None = None,
    check: Callable[..., Iterable[tuple[int, str]]] | None = None,
    ordered_by: str = "",
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
