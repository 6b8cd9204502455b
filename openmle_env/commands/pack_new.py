"""``openmle pack new``: the folder of a new task pack, from a table or with made-up data."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from openmle_env.commands.console import AsJson, emit, near, say, tell


def new(
    name: Annotated[str, typer.Argument(metavar="NAME", help="Name of the task, and of its folder.")],
    *,
    from_csv: Annotated[
        Path | None, typer.Option(metavar="FILE.csv", help="A table with the target, which becomes the raw data.")
    ] = None,
    target: Annotated[
        str | None, typer.Option(metavar="COLUMN", help="With --from-csv: the column that is to be predicted.")
    ] = None,
    template: Annotated[
        str | None, typer.Option(metavar="KIND", help="Made-up data instead: tabular (the default), image or text.")
    ] = None,
    to: Annotated[Path, typer.Option(metavar="FOLDER", help="Where the pack's folder is made.")] = Path(),
    licence: Annotated[str | None, typer.Option(metavar="TEXT", help="Licence of the data.")] = None,
    source: Annotated[str | None, typer.Option(metavar="TEXT", help="Where the data comes from.")] = None,
    as_json: AsJson = False,
) -> None:
    """Write a new task pack: pack.yaml with comments, a description, prepare.py, references and a wrong program."""
    from openmle_env.settings import whole_path
    from openmle_env.task_registry.scaffold import new as scaffold  # pydantic and more

    folder = whole_path(to, remedy="Give the whole path.")
    made = scaffold.new(
        name, folder, csv_file=from_csv, target=target, template=template, licence=licence, source=source
    )
    for sentence in made.said:
        say(sentence)
    if as_json:
        emit({"folder": str(made.folder), "said": list(made.said)})
        return
    shown = near(made.folder)
    tell(f"Next: openmle prepare {shown if shown.startswith('/') else f'./{shown}'}")
    tell(f"Pack: {shown}")
