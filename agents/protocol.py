"""What an agent is: something that proposes the next program of an episode."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol, runtime_checkable

if TYPE_CHECKING:
    from collections.abc import Sequence

    from openmle_env.types import Outcome, TaskSpec


@dataclass(frozen=True, slots=True)
class Attempt:
    """One program of an episode and what came of it."""

    program: str
    outcome: Outcome


@runtime_checkable
class Agent(Protocol):
    """Proposes programs. It acts through the environment only and never sees a test score."""

    @property
    def name(self) -> str:
        """A short name for tables and records, such as ``grammar``."""
        ...

    def propose(self, spec: TaskSpec, history: Sequence[Attempt]) -> str:
        """Return the next program, given the task and all attempts of this episode so far, oldest first.

        Agents that keep no state of their own can continue an interrupted episode from its history.

        Raises:
            UsageError: The agent cannot work on this task at all; the message says why.
        """
        ...
