"""``openmle pack index``: the index of a folder of packs, by which thousands of tasks are known at once."""
# No `from __future__ import annotations` here: typer reads the annotations when the program starts.

from pathlib import Path
from typing import Annotated

import typer

from openmle_env.commands.console import AsJson, emit, near, progress, tell


def index(
    folder: Annotated[Path, typer.Argument(metavar="FOLDER", help="Holds one folder for each pack.")],
    *,
    unreleased: Annotated[
        bool,
        typer.Option("--unreleased", metavar="", help="Allow other scores under a version that was never released."),
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Write index.json into a folder of packs. A pack that gives other scores than before needs a new version."""
    from openmle_env.settings import whole_path
    from openmle_env.task_registry import make_index  # pydantic and more
    from openmle_env.task_registry.index import INDEX

    whole = whole_path(folder, remedy="Give the whole path.")
    target = whole / INDEX.name
    with progress("reading packs") as report:
        made = make_index.write(whole, target, released=not unreleased, progress=report)
    if as_json:
        emit({"index": str(target), "tasks": [entry._asdict() for entry in made]})
        return
    tell(f"{len(made):,} tasks. Index: {near(target)}")
