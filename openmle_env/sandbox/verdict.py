"""From what a box reported to an `Execution`: the one place where statuses of programs are decided."""

from __future__ import annotations

import signal
from dataclasses import dataclass
from typing import TYPE_CHECKING

from openmle_env.printable import printable
from openmle_env.sandbox.channel import MAX_LOCKS
from openmle_env.types import (
    MAX_PROGRAM_CHARACTERS,
    MIB,
    SUBMISSION_NAME,
    Artifact,
    ArtifactState,
    Execution,
    Job,
    Limits,
    ResultStatus,
)

if TYPE_CHECKING:
    from openmle_env.sandbox.channel import Final, Report


@dataclass(frozen=True, slots=True, kw_only=True)
class Aftermath:
    """What the host learned of a box when it removed it."""

    oom_kills: int = 0
    peak_bytes: int | None = None
    notes: tuple[str, ...] = ()
    """What could not be confined."""
    unreachable: bool = False
    """The engine did not answer when the box was to be removed."""


def refuse(job: Job, *, backend: str) -> Execution | None:
    """The result of a program that needs no box to be judged, or None."""
    program = job.program
    lines = program.splitlines() if len(program) <= MAX_PROGRAM_CHARACTERS else ["long"]
    if all(not line.strip() or line.lstrip().startswith("#") for line in lines):
        return Execution(
            status=ResultStatus.CODE_MISSING,
            reason="The program holds no code: only blank lines or comments.",
            backend=backend,
        )
    reason = ""
    if len(program) > MAX_PROGRAM_CHARACTERS:
        reason = f"The program has {len(program):,} characters; at most {MAX_PROGRAM_CHARACTERS:,} are run."
    elif "\0" in program:
        reason = "The program holds a NUL character, which Python source must not."
    else:
        try:
            program.encode()
        except UnicodeEncodeError as error:
            reason = f"The program is not valid Unicode text: character {error.start} is a lone surrogate."
    if not reason:
        return None
    return Execution(status=ResultStatus.CODE_EXECUTION_ERROR, reason=reason, backend=backend)


def cancelled(reason: str, *, backend: str, total_seconds: float = 0.0, notes: tuple[str, ...] = ()) -> Execution:
    """The result of a run that its caller ended."""
    return Execution(
        status=ResultStatus.CANCELLED, reason=reason, backend=backend, total_seconds=total_seconds, notes=notes
    )


def judge(job: Job, report: Report, after: Aftermath, *, backend: str, total_seconds: float) -> Execution:
    """Classify one run.

    Args:
        job: What was run.
        report: What its box said.
        after: What the host learned when it removed the box.
        backend: Name of the sandbox.
        total_seconds: What the run took, by the host's clock.
    """
    final = report.final
    notes: list[str] = list(after.notes)
    counted = (final.stdout_bytes, final.stderr_bytes) if final else (len(report.stdout), len(report.stderr))
    stdout = _text(report.stdout, report.stdout_tail, counted[0], "stdout", notes)
    stderr = _text(report.stderr, report.stderr_tail, counted[1], "stderr", notes)
    oom_kills = max(after.oom_kills, final.oom_kills if final else 0)
    status, reason = _status(job, report, after, oom_kills, stderr)
    if final and final.processes_killed:
        notes.append(f"processes that outlived the program and were killed: {final.processes_killed}")
    if final and oom_kills and status is not ResultStatus.OUT_OF_MEMORY:
        notes.append(f"processes of the program that were killed for memory: {oom_kills}")
    peak = after.peak_bytes if after.peak_bytes is not None else final.peak_bytes if final else None
    return Execution(
        status=status,
        reason=reason,
        exit_code=final.exit_code if final else None,
        stdout=stdout,
        stderr=stderr,
        stdout_bytes=counted[0],
        stderr_bytes=counted[1],
        wall_seconds=final.wall_seconds if final else 0.0,
        total_seconds=total_seconds,
        cpu_seconds=final.cpu_seconds if final else None,
        peak_memory_mb=None if peak is None else round(peak / MIB, 1),
        oom_kills=oom_kills,
        processes_killed=final.processes_killed if final else 0,
        artifacts=report.artifacts,
        notes=tuple(notes),
        backend=backend,
        disk_mb=None if final is None or final.disk_bytes is None else round(final.disk_bytes / MIB, 1),
        files=final.files if final else None,
    )


def _text(head: bytearray, tail: bytearray, total: int, name: str, notes: list[str]) -> str:
    cut = total - len(head) - len(tail)
    if cut <= 0:
        return bytes(head + tail).decode(errors="replace")
    notes.append(f"{cut:,} of {total:,} bytes of {name} were cut from its middle")
    return f"{head.decode(errors='replace')}\n... [{cut:,} bytes cut] ...\n{tail.decode(errors='replace')}"


def _status(job: Job, report: Report, after: Aftermath, oom_kills: int, stderr: str) -> tuple[ResultStatus, str]:
    final, limits = report.final, job.limits
    if final is None:
        return _without_final(report, after, oom_kills, limits)
    if final.end == "timeout":
        return ResultStatus.TIMEOUT, _timeout(limits)
    if final.end == "memory" or (oom_kills and final.exit_code == -signal.SIGKILL):
        return ResultStatus.OUT_OF_MEMORY, _memory(limits)
    if final.end == "files":
        reason = f"The program made more files than its limit of {limits.inodes:,.0f} in one folder."
        return ResultStatus.CODE_EXECUTION_ERROR, reason
    if final.end == "locks":
        return ResultStatus.CODE_EXECUTION_ERROR, f"The program held more than {MAX_LOCKS:,} locks on files."
    if final.exit_code != 0:
        if final.memory_error:
            return ResultStatus.OUT_OF_MEMORY, f"An allocation failed (MemoryError): {_last_line(stderr)}"
        return ResultStatus.CODE_EXECUTION_ERROR, _failure(final, stderr)
    if SUBMISSION_NAME not in job.collect:
        return ResultStatus.SUCCESS, ""
    return _submission(report.artifacts.get(SUBMISSION_NAME))


def _without_final(report: Report, after: Aftermath, oom_kills: int, limits: Limits) -> tuple[ResultStatus, str]:
    late = report.failure == "deadline"
    if after.unreachable:
        said = "Its box did not answer in time" if late else report.failure.rstrip(".")
        return ResultStatus.SANDBOX_UNCONFIRMED, f"{said}, and the engine does not answer either."
    if late:
        return ResultStatus.TIMEOUT, f"{_timeout(limits)} Its box did not answer in time and was ended."
    if oom_kills:
        return ResultStatus.OUT_OF_MEMORY, _memory(limits)
    return ResultStatus.SANDBOX_UNCONFIRMED, report.failure


def _submission(artifact: Artifact | None) -> tuple[ResultStatus, str]:
    if artifact is None or artifact.state is ArtifactState.MISSING:
        return (
            ResultStatus.SUBMISSION_MISSING,
            f"The program ended without writing /output/{SUBMISSION_NAME}.",
        )
    detail = printable(artifact.detail)
    if artifact.state is ArtifactState.NOT_A_FILE:
        return ResultStatus.SUBMISSION_INVALID, f"/output/{SUBMISSION_NAME} is not a plain file but {detail}."
    if artifact.state is ArtifactState.TOO_LARGE:
        return ResultStatus.SUBMISSION_INVALID, f"/output/{SUBMISSION_NAME} is too large: {detail}."
    return ResultStatus.SUCCESS, ""


def _timeout(limits: Limits) -> str:
    return f"The program ran longer than its limit of {limits.wall_seconds:g} s."


def _memory(limits: Limits) -> str:
    return f"The program used more than its limit of {limits.memory_mb:g} MiB of memory."


def _failure(final: Final, stderr: str) -> str:
    code = final.exit_code
    if code is None:
        return "The program ended without an exit code."
    if code < 0:
        return f"The program was ended by {_signal_name(-code)}."
    line = _last_line(stderr)
    return f"The program ended with exit code {code}" + (f": {line}" if line else ".")


def _signal_name(number: int) -> str:
    try:
        return f"signal {number} ({signal.Signals(number).name})"
    except ValueError:
        return f"signal {number}"


def _last_line(stderr: str) -> str:
    """The last line that is not indented: of a traceback, the exception itself."""
    for line in reversed(stderr.splitlines()):
        if line.strip() and not line[0].isspace():
            return printable(line.strip())[:300]
    return ""
