"""``openmle pack``: making, checking, importing and sharing task packs. Each subcommand stands in a file of its own."""
# No `from __future__ import annotations` here: typer reads the annotations when the program starts.

import typer

app = typer.Typer(
    name="pack", help="Task packs: new, check, build, import, push and pull.", pretty_exceptions_enable=False
)


@app.callback(invoke_without_command=True)
def _pack(context: typer.Context) -> None:
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())
