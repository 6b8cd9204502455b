"""``openmle pack contamination``: whether tasks are those of a benchmark, by name, text and data."""
# No `from __future__ import annotations` here: typer reads the annotations when the program starts.

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from openmle_env.commands.console import DONE, FAILED, AsJson, emit, near, need_folder_for, progress, say, table
from openmle_env.errors import PackError, UsageError

if TYPE_CHECKING:
    from openmle_env.task_registry.contamination.comparing import Match
    from openmle_env.task_registry.contamination.sketch import Sketch


def contamination(
    packs: Annotated[
        list[str] | None, typer.Argument(metavar="PACK", help="Names of tasks, or folders of task packs.")
    ] = None,
    *,
    reference: Annotated[
        list[Path] | None,
        typer.Option(
            "--reference",
            metavar="PATH",
            help="Tasks to stay away from: a checkout, a folder of packs, or a file made with --save. Several times.",
        ),
    ] = None,
    save: Annotated[
        Path | None,
        typer.Option("--save", metavar="FILE", help="Write the sketches of the reference, else of the packs."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Say which tasks are those of a benchmark: by name, by description, and by the values of their tables."""
    if not packs and not (reference and save):
        raise UsageError("Name the packs to look at; or, to keep the sketches of a reference, --reference and --save.")
    need_folder_for(save)
    from openmle_env.task_registry.contamination import comparing, sketch

    references = _references(reference or [])
    sketches, without, failed = _sketches(packs or [])
    if save is not None:
        kept = references or sketches
        sketch.write(save, kept)
        say(f"{len(kept)} sketches are in {near(save)}.")
    results = {one.name: comparing.compare(one, [other for other in references if other != one]) for one in sketches}
    excluded = [name for name, matches in results.items() if comparing.excluded(matches)]
    if as_json:
        emit(
            [
                {
                    "task": name,
                    "excluded": name in excluded,
                    "data_compared": name not in without,
                    "matches": [asdict(match) for match in matches],
                }
                for name, matches in results.items()
            ]
        )
    else:
        _show([match for matches in results.values() for match in matches])
    if without:
        say(f"Not prepared, so compared by name and text only: {', '.join(without)}. To compare data: openmle prepare")
    for message in failed:
        say(f"Not looked at: {message}")
    if bare := [one.name for one in references if not one.columns]:
        say(f"Of {len(bare)} of {len(references)} tasks of the reference, such as {bare[0]}, only the text is known.")
    if results:
        say(f"{len(excluded)} of {len(results)} tasks are to be left out.")
    raise typer.Exit(FAILED if excluded or failed else DONE)


def _references(paths: "list[Path]") -> "list[Sketch]":
    from openmle_env.task_registry.contamination import sketch

    found: list[Sketch] = []
    for path in paths:
        if path.is_dir():
            found.extend(sketch.of_folder(path))
        elif path.is_file():
            found.extend(sketch.read(path))
        else:
            raise UsageError(f"There is no folder or file {str(path)!r} to take a reference from.")
    return found


def _sketches(packs: list[str]) -> "tuple[list[Sketch], list[str], list[str]]":
    """The sketches of packs, the names of those whose data is not there to be read, and what is wrong with others."""
    from openmle_env.task_registry.contamination import sketch
    from openmle_env.task_registry.lookup import find

    sketches: list[Sketch] = []
    without, failed = [], []
    with progress("sketching") as report:
        for number, name in enumerate(packs):
            report(Path(name).name, number / len(packs))
            try:
                pack = find(name)
                tables = sketch.tables_of(pack.root)
                sketches.append(sketch.of_task(pack.slug, pack.description, tables))
            except PackError as error:
                failed.append(f"{Path(name).name}: {error}")
                continue
            if tables is None:
                without.append(pack.slug)
    return sketches, without, failed


def _show(matches: "list[Match]") -> None:
    if matches:
        rows = [
            (
                one.task,
                "excluded" if one.excludes else "look",
                one.kind.value,
                f"{one.strength:.0%}",
                one.other,
                one.why,
            )
            for one in matches
        ]
        table("", ("task", "verdict", "shares", "how much", "with", "why"), rows)
