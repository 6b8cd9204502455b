"""``openmle pack import`` and ``openmle pack compare``: tasks of other collections, and their scores beside ours."""
# No `from __future__ import annotations` here: typer reads the annotations when the program starts.

from collections import Counter
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from openmle_env.commands.console import (
    DONE,
    FAILED,
    AsJson,
    emit,
    near,
    number,
    progress,
    say,
    table,
    tell,
)
from openmle_env.errors import UsageError, unknown_name


def import_packs(
    collection: Annotated[str, typer.Argument(metavar="COLLECTION", help="openmle, mlebench or mledojo.")],
    path: Annotated[Path, typer.Argument(metavar="PATH", help="A checkout of it, or a folder of OpenMLE packs.")],
    *,
    to: Annotated[Path, typer.Option("--to", metavar="DIR", help="Where the packs are written.")],
    only: Annotated[
        list[str] | None, typer.Option("--only", metavar="NAME", help="This task; may be said several times.")
    ] = None,
    everything: Annotated[bool, typer.Option("--all", metavar="", help="All tasks of it.")] = False,
    raw: Annotated[
        Path | None,
        typer.Option("--raw", metavar="DIR", help="Raw files of the tasks, as DIR/NAME/raw or DIR/NAME."),
    ] = None,
    compat: Annotated[
        bool,
        typer.Option("--compat", metavar="", help="MLE-bench: score by its own graders, where ours would be right."),
    ] = False,
    force: Annotated[
        bool, typer.Option("--force", metavar="", help="Write packs again that are there and differ.")
    ] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", metavar="", help="Say what would be imported.")] = False,
    as_json: AsJson = False,
) -> None:
    """Make task packs out of another collection's tasks."""
    from openmle_env.task_registry.importers import importing
    from openmle_env.task_registry.importers.drafts import Status, slug_of

    wanted = next((one for one in importing.COLLECTIONS if one == collection), None)
    if wanted is None:
        raise unknown_name("collection", collection, importing.COLLECTIONS)
    if bool(only) == everything:
        raise UsageError("Say which tasks: --only NAME, several times if you like, or --all.")
    if compat and wanted != "mlebench":
        raise UsageError("--compat is for MLE-bench: the packs of the others always score by their own metric.")
    if raw is not None and not raw.is_dir():
        raise UsageError(f"There is no folder {str(raw)!r} to take raw files from.")
    chosen = importing.choose(wanted, path, only or ())
    if dry_run:
        if as_json:
            emit([{"name": name, "folder": str(to / slug_of(name))} for name in chosen])
        else:
            for name in chosen:
                tell(f"{name} -> {near(to / slug_of(name))}")
        return
    with progress("importing") as report:
        outcomes = list(importing.run(wanted, path, chosen, to, raw=raw, compat=compat, force=force, progress=report))
    counts = Counter(outcome.status for outcome in outcomes)
    if as_json:
        emit([{**asdict(outcome), "status": outcome.status.value} for outcome in outcomes])
    else:
        rows = [(one.name, one.status.value, "; ".join(filter(None, (one.reason, *one.notes)))) for one in outcomes]
        table("", ("task", "status", "what to know"), rows)
    where = f" The packs are in {near(to)}." if any(one.folder for one in outcomes) else ""
    say(f"{', '.join(f'{count} {status.value}' for status, count in counts.items())}.{where}")
    raise typer.Exit(FAILED if counts[Status.FAILED] else DONE)


def compare(
    pack: Annotated[str, typer.Argument(metavar="PACK", help="Folder of a pack that was imported from MLE-bench.")],
    submission: Annotated[Path, typer.Argument(metavar="SUBMISSION", help="A submission file.")],
    *,
    as_json: AsJson = False,
) -> None:
    """Grade a submission by our metric and by the competition's own grader."""
    from openmle_env import settings
    from openmle_env.sandbox import select
    from openmle_env.task_registry.importers.comparing import compare as make
    from openmle_env.task_registry.lookup import load_task

    wanted = settings.load()
    sandbox = select.create(wanted.sandbox, image=wanted.image)
    try:
        with progress("comparing") as report:
            task = load_task(pack, sandbox=sandbox, progress=report)
        found = make(task, submission, sandbox)
    finally:
        sandbox.close()
    if as_json:
        emit(asdict(found))
        return
    ours = "the peer's grader, row by row of our checks" if found.metric == "pack" else found.metric
    table(
        "",
        ("grader", "score", "what it says"),
        [(ours, number(found.ours), found.refusal), ("the peer's own", number(found.peer), found.peer_says)],
    )
