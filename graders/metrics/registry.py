"""What a metric is, and the decorator that makes one of a function."""

from __future__ import annotations

import logging
import math
from dataclasses import dataclass
from inspect import getdoc
from types import MappingProxyType
from typing import TYPE_CHECKING

from openmle_env.errors import PackError, UsageError
from openmle_env.graders.rows import Rows, Value
from openmle_env.graders.scored import Scored
from openmle_env.types import Column, ColumnKind, ResultStatus, SubmissionSchema

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from openmle_env.sandbox.protocol import CancelToken

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Golden:
    """One worked example of a metric with a single target."""

    kind: ColumnKind
    truth: tuple[Value, ...]
    predicted: tuple[Value, ...]
    score: float
    labels: tuple[str, ...] = ()

    def rows(self) -> tuple[Rows, Rows]:
        """The example as a metric takes it: truth, then prediction."""
        target = Column(name="target", kind=self.kind, labels=self.labels)
        schema = SubmissionSchema(id=Column(name="id", kind="integer"), targets=(target,))
        ids = [str(i) for i in range(len(self.truth))]
        return Rows(schema, ids, {"target": self.truth}), Rows(schema, ids, {"target": self.predicted})


@dataclass(frozen=True, slots=True, kw_only=True)
class Metric:
    """A hidden metric of ours. Its value is finite, or computing it raises."""

    name: str
    function: Callable[[Rows, Rows], float]
    higher_is_better: bool
    range: tuple[float, float]
    """The lowest and the highest value that there can be; infinite where there is no bound."""
    kinds: frozenset[ColumnKind]
    """The kinds of target that it is defined for."""
    source: str
    """Where the formula comes from."""
    degenerate: str
    """What it says where the formula is undefined (one class only, no variance, no rows)."""
    golden: tuple[Golden, ...]
    """Worked examples; a test computes each."""

    @property
    def every_column(self) -> bool:
        """False: only the targets are compared."""
        return False

    @property
    def description(self) -> str:
        """One sentence for people."""
        return (getdoc(self.function) or "").partition("\n")[0]

    def accepts(self, schema: SubmissionSchema) -> None:
        """Refuse targets that this metric is not defined for.

        Raises:
            PackError: A target is of another kind.
        """
        for target in schema.targets:
            if target.kind not in self.kinds:
                raise PackError(
                    f"Metric {self.name} takes targets of kind {', '.join(sorted(self.kinds))}; "
                    f"column {target.name!r} is of kind {target.kind}. Correct that kind, or choose another metric."
                )

    def __call__(self, truth: Rows, predicted: Rows) -> float:
        """The value for predictions that are aligned with the truth.

        Raises:
            PackError: It is undefined on these answers.
        """
        if not len(truth) or list(truth.ids) != list(predicted.ids):
            raise PackError(f"Metric {self.name} needs the same ids, at least one, in truth and prediction.")
        value = float(self.function(truth, predicted))
        low, high = self.range
        if not math.isfinite(value) or not low <= value <= high:
            raise PackError(
                f"Metric {self.name} gave {value!r} on these {len(truth):,} answers; it has no value there."
            )
        return value

    def score(
        self, truth: Rows, predicted: Rows, chosen: Sequence[int], *, cancel: CancelToken | None = None
    ) -> Scored:
        """The value on the chosen rows, as a grader takes it: a fault of the task's, instead of an exception.

        Nothing runs for it that ``cancel`` could end.
        """
        del cancel
        try:
            return Scored(status=ResultStatus.SUCCESS, score=self(truth.take(chosen), predicted.take(chosen)))
        except PackError:
            _log.info("metric %s is undefined on the answers", self.name)
            return Scored(
                status=ResultStatus.METRIC_OR_ANSWER_MISSING,
                message=f"The metric {self.name} is undefined on the task's answers. This is a fault of the task.",
            )
        except (ArithmeticError, LookupError, TypeError, ValueError) as error:
            _log.info("metric %s failed: %s", self.name, type(error).__name__)  # its message may quote an answer
            return Scored(
                status=ResultStatus.SCORING_FAILED,
                message=f"The metric {self.name} failed. This is a fault of the task, not of the submission.",
            )


_METRICS: dict[str, Metric] = {}


def registered() -> Mapping[str, Metric]:
    """Every metric by name."""
    return MappingProxyType(_METRICS)


def metric(
    *,
    higher_is_better: bool,
    range: tuple[float, float],  # noqa: A002  the word that the tables of metrics use; nothing here needs the builtin
    kinds: tuple[ColumnKind, ...],
    source: str,
    degenerate: str,
    golden: tuple[Golden, ...],
) -> Callable[[Callable[[Rows, Rows], float]], Metric]:
    """Register the decorated function as the metric of its name; its docstring's first line describes it.

    Raises:
        UsageError: The name is taken.
    """

    def register(function: Callable[[Rows, Rows], float]) -> Metric:
        name = function.__name__
        if name in _METRICS:
            raise UsageError(f"There is already a metric {name!r}; give the new one another name.")
        made = Metric(
            name=name,
            function=function,
            higher_is_better=higher_is_better,
            range=range,
            kinds=frozenset(kinds),
            source=source,
            degenerate=degenerate,
            golden=golden,
        )
        _METRICS[name] = made
        return made

    return register
