"""What ``openmle pack build`` shows: its plan, what Kaggle hands out, what became of each task, and the counts."""

from __future__ import annotations

from typing import TYPE_CHECKING

from openmle_env.commands.console import DONE, FAILED, console, emit, near, table, tell
from openmle_env.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from openmle_env.task_registry.builder.funnel import Funnel
    from openmle_env.task_registry.builder.kaggle.access import Access
    from openmle_env.task_registry.builder.kaggle.client import KaggleClient
    from openmle_env.task_registry.builder.pipeline import Options
    from openmle_env.task_registry.builder.sources import Source
    from openmle_env.task_registry.builder.state import StageName, TaskState

    Planned = tuple[Source, list[StageName], str]


def report_access(client: KaggleClient, found: Sequence[Access], *, as_json: bool) -> int:
    """Show which sources Kaggle hands out; the exit code says whether it is all of them."""
    if as_json:
        emit(
            [
                {"source": one.source.name, "verdict": one.verdict, "bytes": one.size, "reason": one.reason}
                for one in found
            ]
        )
    else:
        rows = [(one.source.name, one.verdict, _megabytes(one.size), one.reason) for one in found]
        table("", ("source", "Kaggle says", "MB", "what to do"), rows, right=("MB",))
        ready = sum(one.verdict == "ready" for one in found)
        tell(
            f"{ready} of {len(found)} sources are handed out. Client {client.version}, keys of {client.keys.found_in}."
        )
    return DONE if all(one.verdict == "ready" for one in found) else FAILED


def report_plan(
    planned: Sequence[Planned], options: Options, lacks: Sequence[str], *, asks_model: bool, as_json: bool
) -> int:
    """Show what a build would do, and what it lacks."""
    if as_json:
        plan = [
            {"source": source.name, "slug": source.slug, "stages": one, "note": note} for source, one, note in planned
        ]
        emit({"plan": plan, "lacks": lacks, "to": str(options.to), "executed": False})
        return DONE
    rows = [(source.slug, source.kind, ", ".join(one) or "-", note) for source, one, note in planned]
    table("", ("pack", "from", "stages to run", "note"), rows)
    if asks_model:
        tell(
            "For each task the model is asked: in perceive up to 40 calls of tools, in describe for a plan and a text, "
            f"in prepare for a script, in metric for a choice; each of these up to {options.tries} times."
        )
    for lack in lacks:
        tell(f"It lacks {lack}")
    tell(f"Nothing was done. To build into {near(options.to)}: the same command with --execute")
    return DONE


def report_build(states: Sequence[TaskState], to: Path, *, as_json: bool) -> int:
    """Show what became of the tasks of a build; the exit code says whether all are packs now."""
    from openmle_env.task_registry.builder import funnel, workspace

    counted = funnel.count(workspace.states(to))
    if as_json:
        emit({**_document(states, counted), "to": str(to), "executed": True})
    else:
        _print_states(states)
        _print_funnel(counted)
        tell(f"Packs are in {near(to)}, work in progress and reports in {near(to / workspace.WORK)}")
    return DONE if all(one.status in {"passed", "excluded"} for one in states) else FAILED


def report_status(to: Path, *, as_json: bool) -> int:
    """Show what became of all tasks that were ever built into a folder."""
    from openmle_env.task_registry.builder import funnel, workspace

    states = workspace.states(to)
    if not states:
        raise UsageError(f"Nothing was built into {to} so far. Name the folder of a build with --to.")
    counted = funnel.count(states)
    if as_json:
        emit(_document(states, counted))
    else:
        _print_states(states)
        _print_funnel(counted)
    return DONE


def _document(states: Sequence[TaskState], counted: Funnel) -> dict[str, object]:
    return {
        "tasks": [{**one.model_dump(mode="json"), "status": one.status, "reason": one.reason} for one in states],
        "funnel": counted.model_dump(mode="json"),
    }


def _print_states(states: Sequence[TaskState]) -> None:
    from openmle_env.task_registry.builder.state import STAGES

    rows = []
    for one in states:
        done = sum(one.done(name) for name in STAGES)
        note = " ".join(part for part in (one.reason, *one.notes) if part)
        rows.append((one.slug, one.status, f"{done}/{len(STAGES)}", note))
    table("", ("pack", "status", "stages", "why"), rows)


def _print_funnel(counted: Funnel) -> None:
    console().print(
        f"candidates {counted.candidates}, eligible {counted.eligible}, executable {counted.executable}, passed "
        f"{counted.passed}; excluded {counted.excluded}, unobtainable {counted.unobtainable}, failed {counted.failed}, "
        f"unfinished {counted.unfinished}"
    )


def _megabytes(size: int | None) -> str:
    return "-" if size is None else f"{size / 1e6:,.1f}"
