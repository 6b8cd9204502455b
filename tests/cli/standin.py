"""Programs for the sandbox that runs nothing, and the contents of a tiny task pack."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING

from openmle_env.errors import SandboxUnavailableError
from openmle_env.sandbox.scripted import obey

if TYPE_CHECKING:
    from collections.abc import Callable

    from openmle_env.types import Execution, Job

PACK = """\
title: Odd numbers
modality: tabular
task_type: binary classification
metric: {name: accuracy}
submission:
  id: {name: id, kind: integer}
  targets: [{name: odd, kind: label, labels: ['0', '1']}]
rewards: {worst: 0.5, best: 1.0}
budget: {programs: 3, seconds: 600}
"""
IDS = range(1, 41)


def csv(value: Callable[[int], int]) -> str:
    return "id,odd\n" + "".join(f"{i},{value(i)}\n" for i in IDS)


RIGHT = csv(lambda i: i % 2)
ZEROS = csv(lambda _: 0)


def program(submission: str | None = None, **orders: object) -> str:
    """A program for the scripted sandbox, which does what its first line says."""
    if submission is not None:
        orders["submission"] = submission
    return f"# scripted: {json.dumps(orders)}\npass\n"


INTERRUPT = "interrupt = True\n"
GONE = "gone = True\n"


def script(job: Job) -> Execution:
    """As the program says; besides, `INTERRUPT` is Ctrl-C while it runs, and for `GONE` no box can be started."""
    if job.program == INTERRUPT:
        raise KeyboardInterrupt
    if job.program == GONE:
        raise SandboxUnavailableError("The engine does not answer. Start it.")
    return obey(job)


@dataclass(frozen=True)
class Result:
    """What one command line came to."""

    code: int
    stdout: str
    stderr: str
