"""``openmle pack``: making, checking, importing and sharing task packs. Each subcommand stands in a file of its own."""
# No `from __future__ import annotations` here: typer reads the annotations when the program starts.

import typer

from openmle_env.commands import (
    pack_build,
    pack_check,
    pack_contamination,
    pack_hub,
    pack_import,
    pack_index,
    pack_new,
    pack_overview,
)

app = typer.Typer(
    name="pack", help="Task packs: new, check, build, import, push and pull.", pretty_exceptions_enable=False
)
app.command("new")(pack_new.new)
app.command("check")(pack_check.check)
app.command("build")(pack_build.build)
app.command("index")(pack_index.index)
app.command("import")(pack_import.import_packs)
app.command("compare")(pack_import.compare)
app.command("contamination")(pack_contamination.contamination)
app.command("overview")(pack_overview.overview)
app.command("push")(pack_hub.push)
app.command("pull")(pack_hub.pull)
app.command("specs")(pack_hub.specs)


@app.callback(invoke_without_command=True)
def _pack(context: typer.Context) -> None:
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())
