"""``openmle prepare``: makes the data of tasks, or verifies what was made."""

from __future__ import annotations

from typing import Annotated

import typer

from openmle_env.commands.console import AsJson, console, emit, progress, say


def prepare(
    tasks: Annotated[
        list[str], typer.Argument(metavar="TASK", help="Names of built-in tasks, or folders of task packs.")
    ],
    *,
    force: Annotated[
        bool, typer.Option("--force", metavar="", help="Make the data again, even if it is there and whole.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Make the data of tasks; what is there already is verified."""
    from openmle_env.task_registry.lookup import find  # pydantic and more
    from openmle_env.task_registry.prepare import prepare as make

    packs = [find(name) for name in tasks]  # a misspelt name ends it before anything is made
    documents = []
    for pack in packs:
        with progress("preparing") as report:
            prepared = make(pack, progress=report, force=force, show_trace=True)
        documents.append({"task": pack.slug, "version": pack.version, "hash": pack.hash,
                          "made": prepared.made, "public": str(prepared.public),
                          "warnings": list(prepared.warnings)})  # fmt: skip
        for warning in prepared.warnings:
            say(f"Warning: {pack.slug}: {warning}")
        if not as_json:
            verb = "prepared" if prepared.made else "was prepared before, and is whole"
            console().print(f"{pack.slug} {verb}. Public files: {prepared.public}")
    if as_json:
        emit(documents)
