"""``openmle sandbox``: making, checking, measuring and cleaning what programs run in."""
# No `from __future__ import annotations` here: typer reads the annotations when the program starts.

import typer

from openmle_env.commands import doctor, sandbox_bench, sandbox_build, sandbox_prune

app = typer.Typer(
    name="sandbox",
    help="What programs run in: build its image, check it, measure it, and remove what is left of it.",
    pretty_exceptions_enable=False,
)
app.command("build")(sandbox_build.build)
app.command("doctor")(doctor.doctor)
app.command("bench")(sandbox_bench.bench)
app.command("prune")(sandbox_prune.prune)


@app.callback(invoke_without_command=True)
def _sandbox(context: typer.Context) -> None:
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())
