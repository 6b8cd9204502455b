"""What a metric is: a function of arrays, and all that has to be known to use it."""

from __future__ import annotations

import logging
import math
from dataclasses import dataclass, field, replace
from heapq import nsmallest
from inspect import getdoc, signature
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from openmle_env.errors import PackError, UsageError
from openmle_env.graders.echo import MAX_EXAMPLES, show
from openmle_env.graders.loading.cells import yes_and_no
from openmle_env.graders.metrics.examples import Golden, as_rows, as_tuples, by_column
from openmle_env.graders.metrics.parameters import AnswerColumn, Parameter, bind
from openmle_env.graders.scored import Scored
from openmle_env.types import Column, ColumnKind, Problem, ResultStatus, SubmissionSchema

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from openmle_env.graders.metrics.examples import Trial, Value, Values
    from openmle_env.graders.rows import Array, Rows
    from openmle_env.sandbox.protocol import CancelToken

_log = logging.getLogger(__name__)

MANY = 1_000_000
"""As many target columns as anybody has."""

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
    one_class: str = ""
    """The metric that is meant where the target columns are the classes of one question, if that is another one."""
    alike: bool = True
    """Whether true cells have the form of predicted ones; boxes, for one, are predicted with a confidence."""
    any_names: bool = False
    """Whether a predicted class may have any name, as a cluster has, and does not mean the true class so called."""
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

    def advice(self, truth: Rows) -> str:
        """A sentence for whoever chose this metric, where the answers look as if another one was meant; else empty.

        >>> from openmle_env.graders import metrics
        >>> metrics.get("log_loss").one_class
        'multiclass_log_loss'
        """
        if not self.one_class:
            return ""
        beside = {column for _, _, column in self.named_columns()}  # weights may be 1 where the target is 0
        targets = [values for name, values in truth.values.items() if name not in beside]
        if len(targets) < 2 or not len(truth) or (np.sum([values == 1 for values in targets], axis=0) != 1).any():
            return ""
        return (
            f"Each row of the answers has exactly one 1. If the columns are the classes of one question, "
            f"{self.one_class} is meant; {self.name} is the mean over columns that are questions of their own."
        )

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
            wanted = f"{least}" if least == most else f"at least {least}" if most >= MANY else f"{least} to {most}"
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
        """Refuse to go without the parameters that have no default; all that are missing are named at once.

        Raises:
            PackError: One was not given.
        """
        missing = [one for one in self.parameters if one.mark.needed and one.name not in self.given]
        if missing:
            named = "; and ".join(f"{one.name}, {one.expected}" for one in missing)
            first = missing[0].mark.description
            meaning = f"Its meaning: {first}" if len(missing) == 1 else "Give each of them."
            raise PackError(f"Metric {self.name} needs the parameter{'s' * (len(missing) > 1)} {named}. {meaning}")

    def named_columns(self) -> Iterator[tuple[str, AnswerColumn, str]]:
        """The columns of the answers that its given parameters name: parameter, what it is for, column."""
        for parameter in self.parameters:
            if isinstance(parameter.mark, AnswerColumn) and parameter.name in self.given:
                given = self.given[parameter.name]
                yield from (
                    (parameter.name, parameter.mark, name) for name in (given if parameter.mark.many else (given,))
                )

    def truth_columns(self, schema: SubmissionSchema) -> tuple[Column, ...]:
        """The columns that it needs of the answers, and how their cells are read.

        Raises:
            PackError: A column would have to be read in two ways.
        """
        columns: dict[str, Column] = {}
        replaced = False
        for _, mark, name in self.named_columns():
            self._add(columns, _side_column(name, mark, schema))
            replaced |= mark.replaces_targets
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
        slack = ROUNDING * max([1.0, *(abs(bound) for bound in self.range if math.isfinite(bound))])
        if math.isfinite(value) and low - slack <= value <= high + slack:
            return min(max(value, low), high)
        if any_is_huge(predicted):
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
        return used, *used._read(golden)  # noqa: SLF001  its own

    def value(
        self,
        truth: Values | Array,
        predicted: Values | Array,
        *,
        kind: ColumnKind | None = None,
        labels: Sequence[str] = (),
        names: Sequence[str] = (),
        answers: Mapping[str, Sequence[Value]] | None = None,
    ) -> float:
        """The value for plain values instead of files; each is read as the cell of a file with that text.

        Args:
            truth: One value for each row; for several target columns, a sequence of one for each, so that arrays of
                shape (rows,) and (rows, columns) will do. Empty where ``answers`` hold all of the truth.
            predicted: The same of the predictions.
            kind: Of the predictions; the first that the metric takes, if None.
            labels: For ``label``: every allowed value, in the task's order.
            names: Of the target columns, where they mean something.
            answers: Further columns of the answers, which parameters name.

        Raises:
            UsageError: There are not as many values as rows, or a value has not its kind or form.
            PackError: The metric is undefined on these answers, or for such columns.
            OverflowError: Predictions are so large that it has no finite value.

        >>> from openmle_env.graders import metrics
        >>> metrics.get("rmse").value([1, 2], [1, 4])
        1.4142135623730951
        >>> metrics.get("mae", {"weight": "w"}).value([1, 2], [1, 4], answers={"w": [3, 1]})
        0.5
        """
        given = Golden(
            truth=as_tuples(truth),
            predicted=as_tuples(predicted),
            score=math.nan,
            kind=kind,
            labels=tuple(labels),
            names=tuple(names),
            answers=answers or {},
        )
        true, found = self._read(given)
        if wrong := self.problems(found, true):
            raise UsageError(" ".join(problem.message for problem in wrong))
        return self(true, found)

    def _read(self, given: Golden) -> tuple[Rows, Rows]:
        truth, predicted = by_column(given.truth), by_column(given.predicted)
        names = given.names or (
            ("target",) if len(predicted) == 1 else tuple(f"target{i}" for i in range(len(predicted)))
        )
        if not predicted or len(names) != len(predicted):
            raise UsageError(f"There are {len(predicted)} predicted columns, and {len(names)} names for them.")
        kind = given.kind or self.kinds[0]
        targets = {name: Column(name=name, kind=kind, labels=given.labels, blank=kind == "text") for name in names}
        schema = SubmissionSchema(id=Column(name="id", kind="integer"), targets=tuple(targets.values()))
        self.accepts(schema)
        columns = {column.name: column for column in self.truth_columns(schema)}
        answered = names[: self.answered]
        if len(truth) > len(answered):
            raise UsageError(
                f"The truth has {len(truth)} columns, and {len(answered)} can be compared. Leave the rest out."
            )
        cells = {**dict(zip(answered, truth, strict=False)), **given.answers}
        rows = len(given.predicted)
        found = dict(zip(names, predicted, strict=True))
        return (
            as_rows(schema.id, rows, columns, cells, "Answers"),
            as_rows(schema.id, rows, targets, found, "Predictions"),
        )


def any_is_huge(predicted: Rows) -> bool:
    """Whether a predicted number lies beyond `HUGE`."""
    floats = (array for array in predicted.values.values() if array.dtype == np.float64)
    return any(bool(np.abs(array).max(initial=0.0) > HUGE) for array in floats)


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
