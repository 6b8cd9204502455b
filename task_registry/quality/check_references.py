"""Whether the programs that come with a pack do what is said of them; they run in the sandbox."""

from __future__ import annotations

import secrets
from contextlib import contextmanager
from typing import TYPE_CHECKING

from openmle_env.errors import PackError, SandboxUnavailableError
from openmle_env.task_registry import references as runner
from openmle_env.task_registry.quality.checks import Unavailable, bad, check, good, skip
from openmle_env.types import Part, ResultStatus

if TYPE_CHECKING:
    from collections.abc import Iterator

    from openmle_env.sandbox.protocol import Sandbox
    from openmle_env.task_registry.quality.checks import Found
    from openmle_env.task_registry.quality.subject import Subject

SOLVED = 0.99
"""Share of the way from reward 0 to 1 above which a reference leaves nothing to do."""


@check("references_stated", group="programs", severity="low", source="raw_inventory")
def references_stated(subject: Subject) -> Iterator[Found]:
    """The pack has programs with known scores, more than a trivial one, and one that is known to be wrong.

    Nobody knows what a score is worth otherwise.
    """
    config = subject.pack.config
    if len(config.references) < 2:
        yield bad(f"'references' in pack.yaml holds {len(config.references)} programs. Add the sample submission and a "
                  "simple model.")  # fmt: skip
    if config.broken is None:
        yield bad("'broken' in pack.yaml is not stated.")


@check("references_score", group="programs", severity="high", source="metric_smoke_test")
def references_score(subject: Subject) -> Iterator[Found]:
    """Each reference program scores what is recorded of it, in the sandbox, under the task's limits.

    A record that cannot be repeated says that data, metric or libraries have changed.
    """
    task, config = subject.task, subject.pack.config
    if not config.references:
        yield skip("The pack has no references.")
        return
    try:
        with _session(subject) as (sandbox, session):
            results = runner.measure(task, sandbox, session=session)
    except SandboxUnavailableError as error:
        raise Unavailable(f"No program can be run: {error}") from error
    except PackError as error:
        yield bad(str(error))
        return
    subject.reference_scores = {result.name: result.validation_score for result in results}
    for deviation in runner.deviations({one.name: one for one in config.references}, results):
        yield bad(deviation, severity="medium" if "no " in deviation and "is recorded" in deviation else "high")
    allowed = config.program_limits().wall_seconds
    for result in results:
        if result.wall_seconds > allowed / 2:
            yield bad(f"{result.name} takes {result.wall_seconds:.0f} s of {allowed:g} s.", severity="low")
    yield good(", ".join(f"{one.name} {one.validation_score:.4f}" for one in results))


@check("references_beat_sample", group="programs", severity="medium", source="metric_smoke_test")
def references_beat_sample(subject: Subject) -> Iterator[Found]:
    """A reference beats the sample submission, and none solves the task.

    A task that nothing helps with, or that a simple program ends, tells agents not apart.
    """
    scores = dict(subject.reference_scores)
    for one in subject.pack.config.references:
        if one.validation_score is not None:
            scores.setdefault(one.name, one.validation_score)
    if len(scores) < 2:
        yield skip("There are not two references with a score.")
        return
    worst, best = subject.task.spec.reward_bounds
    shares = {name: (score - worst) / (best - worst) for name, score in scores.items()}
    name = max(shares, key=shares.__getitem__)
    if shares[name] <= 0:
        yield bad("No reference beats the sample submission.", _shown(shares))
    elif shares[name] >= SOLVED:
        yield bad(f"The reference {name} leaves nothing to do. Make the task harder.", _shown(shares))
    yield good("Rewards of the references.", _shown(shares))


@check("oracle_tops", group="programs", severity="high", source="metric_smoke_test", acceptable=False)
def oracle_tops(subject: Subject) -> Iterator[Found]:
    """The oracle program, which carries the answers, runs in the sandbox and scores what they do on both parts.

    A grader that needs what the sandbox denies gives 0 to whoever is right.
    """
    try:
        program = subject.task.oracle_program()
    except PackError as error:
        yield bad(str(error), severity="low")
        return
    try:
        with _session(subject) as (sandbox, session):
            execution = runner.run_program(subject.task, sandbox, program, session=session)
    except SandboxUnavailableError as error:
        raise Unavailable(f"No program can be run: {error}") from error
    if execution.status is not ResultStatus.SUCCESS:
        yield bad(f"The oracle program does not run ({execution.status.value}): {execution.reason}")
        return
    probes = subject.probes
    for part in (Part.VALIDATION, Part.TEST):
        found, right = probes.grader.grade(execution.submission, part), probes.grade("gold", part)
        if found.score is None or found.score != right.score:
            yield bad(f"The oracle program scores {found.score} on the {part} part, and the answers {right.score}.")


@check("broken_program", group="programs", severity="high", source="metric_smoke_test")
def broken_program(subject: Subject) -> Iterator[Found]:
    """The program that is known to be wrong is noticed, with the status that the pack states.

    A wrong program that goes for a right one is a hole in the checks.
    """
    broken = subject.pack.config.broken
    expected = broken.status if broken else ResultStatus.SUBMISSION_INVALID
    try:
        with _session(subject) as (sandbox, session):
            execution = runner.run_program(subject.task, sandbox, subject.task.broken_program(), session=session)
    except SandboxUnavailableError as error:
        raise Unavailable(f"No program can be run: {error}") from error
    status = execution.status
    if status is ResultStatus.SUCCESS:
        status = subject.probes.score_artifact(execution.submission).status
    if status is not expected:
        yield bad(f"The broken program ends as {status.value}, and {expected.value} is said of it.")


@contextmanager
def _session(subject: Subject) -> Iterator[tuple[Sandbox, str]]:
    """The sandbox, and a session in which programs share a box; the box is given back at the end."""
    sandbox = subject.sandbox.get()
    session = f"check-{secrets.token_hex(8)}"
    try:
        yield sandbox, session
    finally:
        end = getattr(sandbox, "end_session", None)
        if end is not None:
            end(session)


def _shown(shares: dict[str, float]) -> str:
    return ", ".join(f"{name} {share:.3f}" for name, share in shares.items())
