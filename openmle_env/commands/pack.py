"""``openmle pack``: making, checking, importing and sharing task packs. Each subcommand stands in a file of its own."""
# No `from __future__ import annotations` here: typer reads the annotations when the program starts.

import typer

from openmle_env.commands import pack_build, pack_import, pack_index, pack_new

app = typer.Typer(
    name="pack", help="Task packs: new, check, build, import, push and pull.", pretty_exceptions_enable=False
)
app.command("new")(pack_new.new)
app.command("build")(pack_build.build)
app.command("index")(pack_index.index)
app.command("import")(pack_import.import_packs)
app.command("compare")(pack_import.compare)


@app.callback(invoke_without_command=True)
def _pack(context: typer.Context) -> None:
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())
