"""The command line, ``openmle``: registers the subcommands and turns what went wrong into a line and an exit code."""

from __future__ import annotations

import contextlib
import errno
import io
import os
import signal
import sys
import traceback
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NoReturn

import typer

from openmle_env import settings
from openmle_env.commands import doctor, grade, metrics, pack, prepare, run, sandbox, tasks
from openmle_env.commands.console import DONE, FAILED, INFRASTRUCTURE, INTERRUPTED, WRONG_USE, emit
from openmle_env.errors import OpenMLEError, UsageError
from openmle_env.printable import printable
from openmle_env.types import Fault

if TYPE_CHECKING:
    from collections.abc import Sequence
    from types import FrameType, TracebackType

_UNWRITTEN = {errno.EBADF, errno.EDQUOT, errno.EFBIG, errno.EIO, errno.ENOSPC}
"""What writing to a stream or a file ends with; such an error does not say which one it was."""

TERMINATED = 128 + signal.SIGTERM

app = typer.Typer(
    name="openmle",
    help="Machine-learning-engineering tasks as environments: a program runs in a sandbox, a hidden metric scores it.",
    epilog="Exit codes: 0 done, 1 the thing failed, 2 wrong use, 3 the machine failed, 130 Ctrl-C, 143 SIGTERM.",
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.command("list")(tasks.list_tasks)
app.command("show")(tasks.show)
app.command("prepare")(prepare.prepare)
app.command("run")(run.run)
app.command("grade")(grade.grade)
app.command("metrics")(metrics.metrics)
app.command("doctor")(doctor.doctor)
app.add_typer(pack.app)
app.add_typer(sandbox.app)


def _print_version(wanted: bool) -> None:
    if wanted:
        from importlib.metadata import version  # 10 ms that only this option needs

        typer.echo(f"openmle {version('openmle-env')}")
        raise typer.Exit


@app.callback(invoke_without_command=True)
def _openmle(
    context: typer.Context,
    _version: Annotated[
        bool,
        typer.Option(
            "--version", metavar="", callback=_print_version, is_eager=True, help="Print the version and leave."
        ),
    ] = False,
) -> None:
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())
    for message in settings.unknown():
        sys.stderr.write(f"openmle: {printable(message)}\n")


def invoke(arguments: Sequence[str]) -> int:
    """Run one command line and return its exit code; errors become one line on stderr.

    With ``--json`` an error is the JSON document on stdout too: ``{"error": {"kind", "message", "fault"}}``.
    """
    command = typer.main.get_command(app)
    try:
        code = command.main(args=list(arguments), prog_name="openmle", standalone_mode=False)
    except typer.TyperException as error:
        return _fail(arguments, "WrongUse", _wrong_use(error), Fault.AGENT, WRONG_USE)
    except OpenMLEError as error:
        return _fail(arguments, type(error).__name__, str(error), error.fault, _exit_code(error))
    except BrokenPipeError:  # whoever read the output has left
        return FAILED
    except SystemExit as error:
        if error.code != TERMINATED:
            raise
        return _fail(arguments, "Terminated", "Ended by SIGTERM.", Fault.NONE, TERMINATED)
    except OSError as error:
        reason = error.strerror or str(error)
        if error.filename:
            message = f"{error.filename}: {reason}"
        else:
            message = f"Writing failed: {reason}." if error.errno in _UNWRITTEN else reason
        return _fail(arguments, type(error).__name__, message, Fault.INFRASTRUCTURE, INFRASTRUCTURE)
    if code == INTERRUPTED:  # what typer makes of Ctrl-C
        return _fail(arguments, "Interrupted", "Interrupted.", Fault.NONE, INTERRUPTED)
    return code if isinstance(code, int) else DONE


def _exit_code(error: OpenMLEError) -> int:
    if isinstance(error, UsageError):
        return WRONG_USE
    return INFRASTRUCTURE if error.fault is Fault.INFRASTRUCTURE else FAILED


def _wrong_use(error: typer.TyperException) -> str:
    """The parser's message, worded as our own are where it knows similar options."""
    similar: Sequence[str] = getattr(error, "possibilities", None) or ()
    message = error.message.rstrip(".") if similar else error.format_message().rstrip(".").replace("Value error, ", "")
    hint = f" Did you mean {' or '.join(sorted(similar))}?" if similar else ""
    context = getattr(error, "ctx", None)
    path = context.command_path if context is not None else "openmle"
    ending = "" if message.endswith("?") else "."
    return f"{message}{ending}{hint} See '{path} --help'."


def _fail(arguments: Sequence[str], kind: str, message: str, fault: Fault, code: int) -> int:
    with contextlib.suppress(OSError):  # what cannot be told is not told; the exit code says it still
        sys.stderr.write(f"openmle: {printable(message)}\n")
    if "--json" in arguments:
        with contextlib.suppress(OSError):
            emit({"error": {"kind": kind, "message": message, "fault": fault.value}})
    return code


def _report_bug(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
    if issubclass(kind, KeyboardInterrupt):  # before or after the command itself
        sys.stderr.write("openmle: Interrupted.\n")
        return
    traceback.print_exception(kind, error, trace)
    sys.stderr.write("openmle: This is a bug in openmle_env. Please report it, with the lines above.\n")


def _open_streams() -> None:
    """Make stdout and stderr safe to write to, whatever the caller made of them.

    A character that a terminal's encoding lacks is replaced. A closed stdout becomes one on which every write fails,
    so that a result is never lost unnoticed; a closed stderr swallows what it gets.
    """
    if sys.stdout is None:
        sys.stdout = os.fdopen(os.open(os.devnull, os.O_RDONLY), "w")
    if sys.stderr is None:
        sys.stderr = os.fdopen(os.open(os.devnull, os.O_WRONLY), "w")
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")


def _close_streams(code: int) -> int:
    """Write out what is left, so that the interpreter finds nothing to fail with; a failure changes the exit code."""
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except OSError:
            code = code or INFRASTRUCTURE
            with Path(os.devnull).open("w") as sink:
                os.dup2(sink.fileno(), stream.fileno())
    return code


def _terminate(number: int, _frame: FrameType | None) -> NoReturn:
    raise SystemExit(128 + number)


def main() -> NoReturn:
    """Entry point of the ``openmle`` script."""
    sys.excepthook = _report_bug
    signal.signal(signal.SIGTERM, _terminate)  # so that boxes are given back, as on Ctrl-C
    _open_streams()
    sys.exit(_close_streams(invoke(sys.argv[1:])))
