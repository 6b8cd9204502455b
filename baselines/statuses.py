"""The statuses of the sandbox's twelve programs when an environment plays them: executed, then graded."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from openmle_env.envs.task_env import TaskEnv
from openmle_env.sandbox.conformance import PROGRAMS
from openmle_env.types import ResultStatus

if TYPE_CHECKING:
    from collections.abc import Iterator

    from openmle_env.sandbox.protocol import Sandbox
    from openmle_env.types import Outcome

TASK = "titanic"
REFUSED_BY_THE_GRADER = frozenset({"wrong columns", "NaN"})
"""Programs that run well and write something that cannot be graded."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Played:
    """One of the twelve programs, what should come of it, and what came."""

    name: str
    expected: ResultStatus
    outcome: Outcome


def play(sandbox: Sandbox | str) -> Iterator[Played]:
    """Play the twelve programs in a sandbox, each in an episode of its own, since some have limits of their own."""
    for case in PROGRAMS:
        expected = ResultStatus.SUBMISSION_INVALID if case.name in REFUSED_BY_THE_GRADER else case.status
        env = TaskEnv(TASK, sandbox=sandbox, programs=1, limits=case.limits)
        try:
            env.reset()
            *_, info = env.step(case.program)
        finally:
            env.close()
        yield Played(name=case.name, expected=expected, outcome=info["outcome"])
