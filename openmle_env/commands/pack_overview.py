"""``openmle pack overview``: modality, type, compute, sizes and licence of many packs in one table."""
# No `from __future__ import annotations` here: typer reads the annotations when the program starts.

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from openmle_env.commands.console import DONE, FAILED, AsJson, emit, near, need_folder_for, progress, say, table
from openmle_env.errors import PackError, PolicyError, UsageError
from openmle_env.files import write_whole

if TYPE_CHECKING:
    from openmle_env.policies.protocol import Policy
    from openmle_env.task_registry.metadata.rules import Metadata


def overview(
    packs: Annotated[
        list[str] | None, typer.Argument(metavar="PACK", help="Names of tasks, or folders of task packs.")
    ] = None,
    *,
    everything: Annotated[bool, typer.Option("--all", metavar="", help="All tasks that are known here.")] = False,
    model: Annotated[
        str, typer.Option("--model", metavar="NAME", help="Ask this model, too, such as litellm:openai/gpt-4.1.")
    ] = "",
    output: Annotated[
        Path | None, typer.Option("--output", metavar="FILE", help="Write the table as CSV, for spreadsheets.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Show what kinds of tasks packs are, how large, and under which licence."""
    from openmle_env.policies import select
    from openmle_env.task_registry import catalogue
    from openmle_env.task_registry.metadata import overview as tables

    if bool(packs) == everything:
        raise UsageError("Name packs, or say --all.")
    need_folder_for(output)
    names = [str(task.folder) for task in catalogue.known(on_fault=say)] if everything else packs or []
    policy = select.create(model) if model else None
    rows, failed = [], []
    try:
        with progress("reading") as report:
            for number, name in enumerate(names):
                report(Path(name).name, number / len(names))
                try:
                    rows.append(_describe(name, policy))
                except (PackError, PolicyError) as error:
                    failed.append(f"{Path(name).name}: {error}")
    finally:
        if policy is not None:
            policy.close()
    if output is not None:
        write_whole(output, tables.as_csv(rows))
        say(f"The table of {len(rows)} packs is in {near(output)}.")
    if as_json:
        emit([asdict(row) for row in sorted(rows, key=lambda row: row.name)])
    elif rows and output is None:
        _show(rows)
    for message in failed:
        say(message)
    raise typer.Exit(FAILED if failed else DONE)


def _describe(name: str, policy: "Policy | None") -> "Metadata":
    from openmle_env.task_registry.lookup import find
    from openmle_env.task_registry.metadata import asking, rules
    from openmle_env.task_registry.prepare import locate

    pack = find(name)
    prepared = locate(pack)
    finished = pack.root / "data/public"
    public = prepared.public if prepared else finished if finished.is_dir() else None
    found = rules.describe(pack, public, prepared.answers.parent if prepared else None)
    return asking.ask(policy, pack, found) if policy is not None else found


def _show(rows: "list[Metadata]") -> None:
    table(
        "",
        ("task", "modality", "type", "metric", "compute", "data MB", "licence"),
        [
            (
                row.name,
                row.modality,
                row.task_type,
                row.metric,
                row.compute,
                f"{row.raw_bytes / 1e6:.1f}",
                _short(row.licence),
            )
            for row in sorted(rows, key=lambda row: row.name)
        ],
        right=("data MB",),
    )
    for row in rows:
        for note in row.notes:
            say(f"{row.name}: {note}.")


def _short(licence: str) -> str:
    """The name alone, without what is said of it."""
    return licence.partition(" (")[0].partition(";")[0]
