"""A suite that any sandbox backend must pass: what programs come to, and what they cannot reach.

Run it with `check`; each result is named. A backend that can run programs in several ways (`openmle_env.types.Warm`)
has an attribute ``warm``, and is to pass it in each of them.
"""

from __future__ import annotations

import contextlib
import tempfile
import threading
from pathlib import Path
from typing import TYPE_CHECKING
from uuid import uuid4

from openmle_env.sandbox.conformance.cases import LIMITS, MODULES, SMALL_DATA, Case, Result, Session
from openmle_env.sandbox.conformance.isolation import ISOLATION
from openmle_env.sandbox.conformance.programs import PROGRAMS
from openmle_env.sandbox.conformance.sessions import SESSIONS
from openmle_env.sandbox.protocol import CancelToken, Sandbox
from openmle_env.types import Box, Execution, Job, ResultStatus, Warm

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = [
    "ISOLATION",
    "LIMITS",
    "PROGRAMS",
    "SESSIONS",
    "SMALL_DATA",
    "Case",
    "Result",
    "Session",
    "check",
    "check_apart",
    "check_cancelled",
    "check_case",
    "check_session",
    "small_data",
]

_BOXES: dict[Warm, Box] = {"off": "fresh", "single": "warm", "forked": "forked"}
"""What a program runs in, by the way."""


def check(sandbox: Sandbox) -> Iterator[Result]:
    """Run the whole suite on a backend, and yield each result as it comes; takes about a minute."""
    with small_data() as data:
        session = uuid4().hex
        for case in (*PROGRAMS, *ISOLATION):
            yield check_case(sandbox, case, data, session=session)
        sandbox.end_session(session)
        for programs in SESSIONS:
            yield check_session(sandbox, programs, data)
        yield check_apart(sandbox, data)
        for seconds in (0.0, 2.0):
            yield check_cancelled(sandbox, data, seconds=seconds)


def check_case(sandbox: Sandbox, case: Case, data: Path, *, session: str = "") -> Result:
    """Run one case with the public data that stands in a folder, alone or as one of a session."""
    fault = _fault(sandbox, case, sandbox.run(_job(sandbox, case, data, session)))
    return Result(name=case.name, passed=not fault, detail=fault)


def check_session(sandbox: Sandbox, session: Session, data: Path) -> Result:
    """Run the programs of a session, up to the first that does not come to what it must."""
    name, runs = uuid4().hex, []
    try:
        for case in session.programs:
            runs.append(sandbox.run(_job(sandbox, case, data, name)))
            if fault := _fault(sandbox, case, runs[-1]):
                return Result(name=session.name, passed=False, detail=f"program {len(runs)}, {case.name}: {fault}")
    finally:
        sandbox.end_session(name)
    passed = session.holds(tuple(runs))
    return Result(name=session.name, passed=passed, detail="" if passed else f"together they are wrong: {runs}")


def check_apart(sandbox: Sandbox, data: Path) -> Result:
    """Run programs of two sessions in turn: never in one box, and a session's in its own again where boxes are kept."""
    name, sessions = "two sessions share no box", (uuid4().hex, uuid4().hex)
    case = Case(name=name, program=_WHERE, status=ResultStatus.SUBMISSION_MISSING)
    try:
        first, again = ([sandbox.run(_job(sandbox, case, data, one)) for one in sessions] for _ in range(2))
    finally:
        for one in sessions:
            sandbox.end_session(one)
    faults = [fault for run in (*first, *again) if (fault := _fault(sandbox, case, run))]
    if not faults and first[0].stdout == first[1].stdout:
        faults = [f"both ran in {first[0].stdout}"]
    if not faults and _way(sandbox) == "forked" and [run.stdout for run in first] != [run.stdout for run in again]:
        faults = [f"no box was kept for its session: {first}, then {again}"]
    return Result(name=name, passed=not faults, detail="; ".join(faults))


_WHERE = """\
import os
print(os.readlink("/proc/self/ns/pid"), "since", open("/proc/1/stat").read().rpartition(")")[2].split()[19])
"""
"""Tells boxes apart: the kernel gives the number of a box that is gone to another, but at another time."""


def check_cancelled(sandbox: Sandbox, data: Path, *, seconds: float) -> Result:
    """Cancel a run that would not end: before it starts, or after so many seconds."""
    cancel = CancelToken()
    timer = threading.Timer(seconds, cancel.cancel)
    if seconds:
        timer.start()
    else:
        cancel.cancel()
    case = Case(name="", program="while True: pass\n", status=ResultStatus.CANCELLED)
    try:
        run = sandbox.run(_job(sandbox, case, data, uuid4().hex), cancel=cancel)
    finally:
        timer.cancel()
    passed = run.status is case.status
    name = "cancelled in mid-run" if seconds else "cancelled before it starts"
    return Result(name=name, passed=passed, detail="" if passed else f"expected cancelled, got {run}")


def _way(sandbox: Sandbox) -> Warm:
    way: Warm = getattr(sandbox, "warm", "off")  # a backend that has one way only need not say so
    return way


def _job(sandbox: Sandbox, case: Case, data: Path, session: str) -> Job:
    modules = None if _way(sandbox) == "off" else MODULES
    return Job(program=case.program, inputs={"/data": data}, limits=case.limits, modules=modules, session=session)


def _fault(sandbox: Sandbox, case: Case, run: Execution) -> str:
    """What is wrong with a run of a case; empty if nothing is."""
    if run.status is not case.status or run.backend != sandbox.name or not case.holds(run):
        return f"expected {case.status}, got {run}"
    box = _BOXES[_way(sandbox)]
    if run.exit_code is not None and run.box != box:  # a program that is refused is in none
        return f"expected a box that is {box}, got {run}"
    return ""


@contextlib.contextmanager
def small_data() -> Iterator[Path]:
    """A folder with the suite's public data, readable for every user, for as long as the context lasts."""
    with tempfile.TemporaryDirectory(prefix="data-") as folder:
        data = Path(folder)
        data.chmod(0o755)
        for name, text in SMALL_DATA.items():
            (data / name).write_text(text)
            (data / name).chmod(0o644)
        yield data
