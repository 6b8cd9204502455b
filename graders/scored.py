"""What computing a metric came to; what a grader asks of a metric."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Sequence

    from openmle_env.graders.rows import Array, Rows
    from openmle_env.sandbox.protocol import CancelToken
    from openmle_env.types import Column, Problem, ResultStatus, SubmissionSchema


@dataclass(frozen=True, slots=True, kw_only=True)
class Scored:
    """A finite score, or whose fault it is that there is none."""

    status: ResultStatus
    score: float | None = None
    message: str = ""
    """Safe to show to an agent: never made from the answers."""
    warnings: tuple[str, ...] = ()
    details: str = ""
    """What the metric said where it failed. It may quote the answers: only for whoever prepares the task."""


class Scorer(Protocol):
    """A metric of ours or of a pack. Safe to call from several threads at once."""

    @property
    def name(self) -> str:
        """Name of the metric, or ``pack``."""
        ...

    @property
    def higher_is_better(self) -> bool:
        """The direction.

        Raises:
            PackError: The pack's metric cannot be used.
            InfrastructureError: The sandbox that would tell could not be started.
        """
        ...

    def accepts(self, schema: SubmissionSchema) -> None:
        """Refuse targets that the metric is not defined for.

        Raises:
            PackError: A target is of another kind.
        """
        ...

    def truth_columns(self, schema: SubmissionSchema) -> tuple[Column, ...] | None:
        """The columns that it needs of the answers and how they are read; None: every column that there is."""
        ...

    def problems(self, predicted: Rows, truth: Rows) -> tuple[Problem, ...]:
        """What is wrong with the form of the predictions, beyond what the schema says; never made from the targets."""
        ...

    def advice(self, truth: Rows) -> str:
        """A sentence for whoever chose the metric, where the answers look as if another was meant; else empty."""
        ...

    def score(
        self, truth: Rows, predicted: Rows, chosen: Sequence[int] | Array, *, cancel: CancelToken | None = None
    ) -> Scored:
        """Score the chosen rows of predictions that hold the truth's ids in the truth's order.

        All rows are given, so that whatever refuses a submission looks at all of it: a check that sees one part only
        tells which ids are in it. Never raises for a fault of the task. ``cancel`` ends whatever runs for it; the
        status is then ``cancelled``.
        """
        ...
