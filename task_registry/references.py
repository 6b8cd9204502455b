"""Runs the reference programs that a pack comes with, and records what they score."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from openmle_env.errors import PackError, SandboxUnavailableError
from openmle_env.printable import printable
from openmle_env.types import Fault, Job, Part, program_sha256

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from openmle_env.sandbox.protocol import Sandbox
    from openmle_env.task_registry.pack import Reference
    from openmle_env.task_registry.task import Task
    from openmle_env.types import Execution

VERSIONS_PROGRAM = """\
import importlib
import platform

parts = ["Python " + platform.python_version()]
for name in {modules!r}:
    parts.append(name + " " + importlib.import_module(name).__version__)
print(", ".join(parts))
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReferenceResult:
    """What one reference program scored."""

    name: str
    """Short name."""
    title: str
    """One line for tables."""
    validation_score: float
    """On the validation part."""
    test_score: float
    """On the test part."""
    wall_seconds: float
    """Run time of the program."""


def measure(
    task: Task, sandbox: Sandbox, *, session: str = "", progress: Callable[[str, float], None] | None = None
) -> list[ReferenceResult]:
    """Run every reference program of a task in a sandbox and grade it on both parts.

    Args:
        task: A prepared task.
        sandbox: Where the programs run.
        session: As for `run_program`.
        progress: Told which program runs, and the share that is done, from 0 to 1.

    Raises:
        PackError: A reference program failed, or what it wrote is not valid.
        SandboxUnavailableError: A program could not be run.
    """
    grader = task.grader(sandbox)
    references = task.pack.config.references
    results = []
    for done, reference in enumerate(references):
        if progress is not None:
            progress(reference.title, done / len(references))
        program = task.pack.text(reference.program)
        execution = run_program(task, sandbox, program, session=session)
        _need_success(task, execution, reference.name)
        scores = {}
        for part in (Part.VALIDATION, Part.TEST):
            grade = grader.grade(execution.submission, part, program_sha256=program_sha256(program))
            if grade.score is None:
                raise PackError(f"{task.spec.slug}: reference {reference.name!r} is not valid: {grade.message}")
            scores[part] = grade.score
        results.append(
            ReferenceResult(
                name=reference.name,
                title=reference.title,
                validation_score=scores[Part.VALIDATION],
                test_score=scores[Part.TEST],
                wall_seconds=execution.wall_seconds,
            )
        )
    return results


def versions(task: Task, sandbox: Sandbox) -> str:
    """Versions of Python and of the task's libraries, as programs find them in the sandbox.

    Raises:
        PackError: A library that the task promises is not there.
        SandboxUnavailableError: The program could not be run.
    """
    execution = run_program(task, sandbox, VERSIONS_PROGRAM.format(modules=task.spec.modules))
    _need_success(task, execution, "versions")
    return execution.stdout.strip()


def deviations(references: Mapping[str, Reference], results: list[ReferenceResult]) -> list[str]:
    """In words, each score that lies farther from the recorded one than the reference allows; empty if none does."""
    found = []
    for result in results:
        recorded = references[result.name]
        for part, was, now in (
            ("validation", recorded.validation_score, result.validation_score),
            ("test", recorded.test_score, result.test_score),
        ):
            if was is None:
                found.append(f"{result.name}: no {part} score is recorded; measured {now:.4f}")
            elif abs(now - was) > recorded.tolerance + ROUNDING:
                found.append(f"{result.name}: {part} score {now:.4f}, recorded {was:.4f} ± {recorded.tolerance:g}")
    return found


ROUNDING = 5.1e-5
"""Recorded scores have four decimals."""


def run_program(task: Task, sandbox: Sandbox, program: str, *, session: str = "") -> Execution:
    """Run a program as an agent's is run: with the public files, under the limits of the task.

    Args:
        task: A prepared task.
        sandbox: Where it runs.
        program: Python source.
        session: Programs of one session share a box, where the sandbox forks them (`openmle_env.types.Warm`). Whoever
            names one gives its box back: `Sandbox.end_session`.

    Raises:
        SandboxUnavailableError: It could not be run.
    """
    execution = sandbox.run(
        Job(
            program=program,
            inputs={"/data": task.public},
            limits=task.spec.limits,
            requirements=task.pack.requirements,
            modules=task.pack.config.warm_modules() if session else None,
            session=session,
        )
    )
    if execution.status.fault is Fault.INFRASTRUCTURE:
        raise SandboxUnavailableError(f"{task.spec.slug}: a program could not be run: {execution.reason}")
    return execution


def _need_success(task: Task, execution: Execution, name: str) -> None:
    if execution.exit_code != 0:
        raise PackError(
            f"{task.spec.slug}: {name} failed: {execution.reason}\n{printable(execution.stderr[-2000:])}".rstrip()
        )
