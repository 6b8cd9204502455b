"""``openmle list`` and ``openmle show``: what tasks there are, and the card of one."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from openmle_env.commands.console import AsJson, console, emit, metric_name, near, say, table, tell
from openmle_env.printable import printable

if TYPE_CHECKING:
    from collections.abc import Sequence

    from openmle_env.task_registry.catalogue import Known
    from openmle_env.task_registry.suites import Suite

TaskArgument = Annotated[str, typer.Argument(metavar="TASK", help="Name of a built-in task, or folder of a task pack.")]


WIDE = 200
"""More rows than this are printed line by line: a table that wraps its cells would take seconds."""

ROOM_FOR_TITLES = 140
"""On a narrower terminal the titles are left out, so that names stay whole."""

_HEADER = ("task", "title", "modality", "type", "metric", "size", "tier", "prepared")


def list_tasks(
    words: Annotated[
        list[str] | None,
        typer.Argument(metavar="WORD", help="Only tasks with all these words in name, title, modality, type, metric."),
    ] = None,
    *,
    modality: Annotated[
        list[str] | None, typer.Option(metavar="NAME", help="Any part of it: image is in image+text. May be repeated.")
    ] = None,
    task_type: Annotated[
        list[str] | None, typer.Option(metavar="NAME", help="Or its last words: classification. May be repeated.")
    ] = None,
    max_size: Annotated[str | None, typer.Option(metavar="SIZE", help="Data of at most this size: 100MB.")] = None,
    gpu: Annotated[
        bool | None, typer.Option("--gpu/--cpu", help="Whether programs get a GPU.", show_default=False)
    ] = None,
    licence: Annotated[
        list[str] | None, typer.Option(metavar="WORDS", help="Words in the licence of the data. May be repeated.")
    ] = None,
    tier: Annotated[list[int] | None, typer.Option(metavar="N", help="1, 2 or 3. May be repeated.")] = None,
    suite: Annotated[
        str | None, typer.Option(metavar="NAME|FILE", help="Only the tasks of a suite: smoke, core, all, or a file.")
    ] = None,
    source: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help="built-in, a folder of OPENMLE_PACKS, or an entry point. May be repeated."),
    ] = None,
    prepared: Annotated[
        bool | None,
        typer.Option("--prepared/--not-prepared", help="Whether the data is made already.", show_default=False),
    ] = None,
    fetched: Annotated[
        bool | None,
        typer.Option("--fetched/--carried", help="Whether data is fetched to prepare it.", show_default=False),
    ] = None,
    save_suite: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write the tasks as a suite, with versions and hashes.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """List tasks: all that are known here, or those for which everything that is asked holds."""
    from openmle_env.task_registry import catalogue, filters, suites  # only the command that runs pays for its imports

    everything = catalogue.known(on_fault=lambda fault: say(f"Left out: {fault}"))
    found = filters.select(
        everything,
        text=" ".join(words or ()),
        modality=modality or (),
        task_type=task_type or (),
        max_size=max_size,
        gpu=gpu,
        licence=licence or (),
        tier=tier or (),
        source=[_source(name) for name in source or ()],
        fetched=fetched,
        prepared=prepared,
        suite=suite,
    )
    if save_suite is not None:
        suites.write(save_suite, save_suite.stem, [task.entry for task in found])
    states = [filters.is_prepared(task.entry) if prepared is None else prepared for task in found]
    if as_json:
        emit([_document(task, state) for task, state in zip(found, states, strict=True)])
    else:
        _print(found, states)
    if suite is not None:
        _tell_gaps(suites.load(suite), {task.entry.slug for task in everything})
    say(f"{len(found):,} of {len(everything):,} tasks.")
    if save_suite is not None:
        say(f"Suite: {near(save_suite)}")


def _source(name: str) -> str:
    """A folder as the registry writes it; any other source as it is."""
    return str(Path(name).expanduser().absolute()) if "/" in name or name.startswith((".", "~")) else name


def _document(task: Known, prepared: bool) -> dict[str, object]:
    folder = {"folder": str(task.folder), "source": task.source}
    return {**task.entry._asdict(), **folder, "prepared": prepared}


def _print(tasks: Sequence[Known], states: Sequence[bool]) -> None:
    from openmle_env.task_registry.render import human_size

    rows = [
        (
            entry.slug,
            entry.title,
            entry.modality,
            entry.task_type,
            metric_name(entry.metric),
            human_size(entry.size),
            str(entry.tier),
            "yes" if state else "no",
        )
        for (entry, _), state in zip(tasks, states, strict=True)
    ]
    if len(rows) <= WIDE:
        if console().is_terminal and console().width < ROOM_FOR_TITLES:
            table("", (_HEADER[0], *_HEADER[2:]), [(slug, *rest) for slug, _, *rest in rows], right=("size", "tier"))
            return
        table("", _HEADER, rows, right=("size", "tier"))
        return
    cells = [[printable(cell) for cell in row] for row in (_HEADER, *rows)]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    lines = ("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) for row in cells)
    sys.stdout.writelines(f"{line.rstrip()}\n" for line in lines)


def _tell_gaps(suite: Suite, known: set[str]) -> None:
    from openmle_env.task_registry import index

    lacking = [member.task for member in suite.tasks if not {member.task, index.slug_of(member.task)} & known]
    if lacking:
        say(
            f"{len(lacking)} of the {suite.denominator} tasks of the suite {suite.suite!r} cannot be had here, and "
            f"count as failed in its results: {', '.join(lacking)}."
        )


def show(task: TaskArgument, *, as_json: AsJson = False) -> None:
    """Show the card of a task: problem, files, metric, licence, references."""
    from openmle_env.task_registry.lookup import find  # only the command that runs pays for its imports
    from openmle_env.task_registry.prepare import locate
    from openmle_env.task_registry.render import card

    pack = find(task)
    text = card(pack)
    if not as_json:
        tell(text)
        return
    prepared = locate(pack)
    emit(
        {
            "hash": pack.hash,
            "folder": str(pack.root),
            "prepared": str(prepared.public) if prepared else None,
            "pack": pack.config.model_dump(mode="json"),
            "card": text,
        }
    )
