"""What a case of the suite is, and what all cases have in common."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from openmle_env.types import Execution, Limits, ResultStatus

if TYPE_CHECKING:
    from collections.abc import Callable

LIMITS = Limits(wall_seconds=60, memory_mb=512, processes=64, work_mb=32, output_mb=32, file_mb=16, artifact_mb=8)

MODULES = ("numpy",)
"""What a box that waits for a program of the suite has imported."""

SMALL_DATA = {
    "train.csv": "PassengerId,Survived,Sex,Age\n"
    + "".join(f"{n},{n % 2},{'mf'[n % 2]},{20 + n}\n" for n in range(1, 21)),
    "test.csv": "PassengerId,Sex,Age\n" + "".join(f"{n},{'mf'[n % 2]},{20 + n}\n" for n in range(21, 31)),
    "sample_submission.csv": "PassengerId,Survived\n" + "".join(f"{n},0\n" for n in range(21, 31)),
}
"""Public data of the suite, by name below ``/data``."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """One program, and what must come of it."""

    name: str
    program: str
    status: ResultStatus
    limits: Limits = LIMITS
    holds: Callable[[Execution], bool] = lambda _: True
    """What else must be true of the execution."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Session:
    """Programs of one episode, run one after another (see `openmle_env.types.Job`), and what must come of them.

    It holds in each way to run programs: whether they share a box or not, they must not be able to tell.
    """

    name: str
    programs: tuple[Case, ...]
    holds: Callable[[tuple[Execution, ...]], bool] = lambda _: True
    """What else must be true of the executions."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """Whether a backend passed one case."""

    name: str
    passed: bool
    detail: str = ""
    """Of a failure: what came instead."""


WRITE = "import shutil\nshutil.copyfile('/data/sample_submission.csv', '/output/submission.csv')\n"
"""Makes a program write a submission."""

DENIED = """\
def denied(what, call, *arguments):
    try:
        call(*arguments)
    except (OSError, ImportError):
        return
    raise SystemExit(f"not denied: {what}")

"""
"""Gives a program a function that ends it where a call succeeds."""
