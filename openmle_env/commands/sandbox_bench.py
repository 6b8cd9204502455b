"""``openmle sandbox bench``: what the sandbox costs on this machine, as ratios to the same program without one."""
# No `from __future__ import annotations` here: typer reads the annotations when the program starts.

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Annotated

import typer

from openmle_env.commands.console import AsJson, emit, progress, say, table
from openmle_env.errors import SandboxUnavailableError, unknown_name

if TYPE_CHECKING:
    from openmle_env.commands.bench_memory import Memory
    from openmle_env.commands.bench_report import Figure, Target
    from openmle_env.commands.bench_timing import Way
    from openmle_env.task_registry.lookup import Task

WORKERS = 2
"""How many programs run side by side when rates are measured."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Measurement:
    """All that one run found out."""

    rounds: int
    seconds: float
    workers: int
    figures: "tuple[Figure, ...]"
    idle: "dict[str, Memory | None]"
    """Memory of a warm box that waits, by backend; None where it cannot be seen."""
    targets: "tuple[Target, ...]"

    def document(self) -> dict[str, object]:
        """For JSON."""
        held = [asdict(target) | {"met": target.met} for target in self.targets]
        return asdict(self) | {"targets": held}


def bench(
    *,
    sandbox: Annotated[
        str, typer.Option(metavar="NAME", help="docker or bubblewrap; all that work here, if left out.")
    ] = "",
    rounds: Annotated[int, typer.Option(metavar="N", min=1, help="Turns of each way.")] = 10,
    seconds: Annotated[
        float,
        typer.Option(
            metavar="S", min=0, max=86_400, help="How long rates are measured, for each way; 0 for not at all."
        ),
    ] = 30.0,
    ways: Annotated[
        str, typer.Option(metavar="A,B", help="Of bare, fresh, single, forked, step and memory; all if left out.")
    ] = "",
    as_json: AsJson = False,
) -> None:
    """Time a small program in every kind of box against the same program run by hand, in turn.

    All of it takes about 4 minutes for each sandbox; --rounds 3 --seconds 0 takes less than one.
    """
    kinds = chosen(ways)
    backends = usable(sandbox)
    with progress("measuring") as report:
        found = measure(backends, kinds, rounds=rounds, seconds=seconds, report=report)
    if as_json:
        emit(found.document())
    else:
        show(found, lambda title, heads, rows: table(title, heads, rows, right=heads[1:]))


def chosen(ways: str, more: Sequence[str] = ()) -> list[str]:
    """The kinds of ways that were asked for; all of them if none were.

    Raises:
        UnknownNameError: There is no such kind.
    """
    from openmle_env.commands.bench_ways import KINDS

    known = [*KINDS, "memory", *more]
    named = [name.strip() for name in ways.split(",") if name.strip()]
    for name in named:
        if name not in known:
            raise unknown_name("way to run a program", name, known)
    return named or known


def usable(name: str) -> list[str]:
    """The backends to measure.

    Raises:
        UnknownNameError: There is no such backend.
        SandboxUnavailableError: None works here.
    """
    from openmle_env.sandbox import select  # reaches for engines

    if name:
        if name not in (known := [one for one in select.NAMES if one != "scripted"]):
            raise unknown_name("sandbox", name, known)
        return [name]
    reports = select.survey()
    found = [report.name for report in reports if report.usable]
    for report in reports:
        if found and not report.usable:
            say(f"Not measured: {report.name}. {report.reason} {report.remedy}".rstrip())
    if not found:
        said = " ".join(f"{report.name}: {report.reason} {report.remedy}".rstrip() for report in reports)
        raise SandboxUnavailableError(f"No sandbox works on this machine. {said}")
    return found


def measure(
    backends: Sequence[str],
    kinds: Sequence[str],
    *,
    rounds: int,
    seconds: float,
    report: Callable[[str, float], None],
    peers: "Callable[[Task], AbstractContextManager[list[Way]]] | None" = None,
) -> Measurement:
    """Measure these kinds of ways on these backends.

    Args:
        backends: Names of sandbox backends that work here.
        kinds: See `bench_ways.KINDS`; ``memory`` is what a box that waits takes.
        rounds: Turns of each way.
        seconds: How long the rate of each way is measured; 0 for not at all.
        report: Is told what runs, and the share that is done.
        peers: Opens further ways.

    Raises:
        SandboxUnavailableError: A backend does not work here.
        InfrastructureError: The program did not succeed.
    """
    from openmle_env.commands import bench_memory, bench_report, bench_timing, bench_ways  # environment, numpy
    from openmle_env.task_registry.lookup import load_task

    report("preparing the task", 0.0)
    task = load_task(bench_ways.TASK)
    with (
        bench_ways.open_ways(task, backends, kinds) as ours,
        peers(task) if peers else nullcontext([]) as others,
    ):
        every = [*ours, *others]
        lasting = [way for way in every if way.lasting and seconds > 0]
        turning = 1.0 if not lasting else 0.5
        turns = bench_timing.in_turn(every, rounds, lambda text, share: report(text, turning * share))
        rates = bench_timing.rates(
            lasting,
            workers=WORKERS,
            seconds=seconds,
            report=lambda text, share: report(text, turning + (1 - turning) * share),
        )
        found = bench_report.figures(every, turns, rates)
    idle: dict[str, Memory | None] = {}
    if "memory" in kinds:
        for backend in backends:
            report(f"{backend}, a box that waits", 1.0)
            idle[backend] = bench_memory.idle_box(backend, bench_ways.job(task))
    held = bench_report.targets(found, idle)
    return Measurement(
        rounds=rounds, seconds=seconds, workers=WORKERS, figures=tuple(found), idle=idle, targets=tuple(held)
    )


Show = Callable[[str, Sequence[str], Sequence[Sequence[str]]], None]
"""Shows a table: its title, its columns, its rows."""


def show(found: Measurement, shown: Show) -> None:
    """Show the figures, then the targets beside what was measured."""
    from openmle_env.commands.bench_report import HEADS, TARGET_HEADS, rows, target_rows

    title = f"Medians of {found.rounds}"
    if found.seconds:
        title += f"; per minute: {found.workers} side by side for {found.seconds:g} s"
    if found.figures:
        shown(title, HEADS, rows(found.figures))
    if found.targets:
        shown("Targets", TARGET_HEADS, target_rows(found.targets))
