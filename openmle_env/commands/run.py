"""``openmle run``: what is asked for, and with what; `openmle_env.commands.playing` does it."""
# No `from __future__ import annotations` here: typer reads the annotations when the program starts.

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from openmle_env import settings
from openmle_env.commands.console import AsJson, progress, unwritable
from openmle_env.commands.playing import Order, play_one
from openmle_env.commands.tasks import TaskArgument
from openmle_env.errors import InfrastructureError, UsageError, unknown_name
from openmle_env.types import Feedback, Warm

if TYPE_CHECKING:
    from openmle_env.agents.protocol import Agent, Attempt
    from openmle_env.types import TaskSpec

AGENTS = ("grammar",)
MAX_PROGRAM_BYTES = 64 << 20
"""A larger file is not read at all. One that is merely too long for a program is submitted, and gets its status."""


@dataclass(frozen=True, slots=True)
class FromFiles:
    """The agent that submits given programs, in order; its episode has as many steps as there are programs."""

    programs: tuple[str, ...]
    name: str = "files"

    def propose(self, spec: "TaskSpec", history: "Sequence[Attempt]") -> str:
        """Return the next program."""
        del spec
        return self.programs[len(history)]


def run(
    task: TaskArgument,
    files: Annotated[
        list[Path] | None, typer.Argument(metavar="PROGRAM.py", help="Programs to submit, in order.")
    ] = None,
    *,
    agent: Annotated[
        str, typer.Option(metavar="NAME", help=f"Who writes the programs if none are given: {', '.join(AGENTS)}.")
    ] = "",
    programs: Annotated[
        int | None,
        typer.Option(
            metavar="N", min=1, help="How many programs the agent submits; the task's own number if left out."
        ),
    ] = None,
    seed: Annotated[int, typer.Option(metavar="N", min=0, help="Seed of the agent and of the episode.")] = 0,
    sandbox: Annotated[
        str, typer.Option(metavar="NAME", help="auto, docker or bubblewrap; OPENMLE_SANDBOX if left out.")
    ] = "",
    warm: Annotated[
        Warm | None,
        typer.Option(
            help="Where programs run: in a box each, that has imported the libraries and waits (single), or "
            "one after another in one such box (forked), or in a new box each (off). OPENMLE_WARM if left out."
        ),
    ] = None,
    runs: Annotated[
        Path | None,
        typer.Option(
            metavar="FOLDER", help="Folder to record the episode in; OPENMLE_RUNS, or ./openmle_runs, if left out."
        ),
    ] = None,
    feedback: Annotated[Feedback, typer.Option(help="What the agent is told of its programs.")] = "validation",
    as_json: AsJson = False,
) -> int:
    """Play one episode: run programs in a sandbox, score them, record everything.

    Exits with 1 if a given program fails, or if no program of an agent gets a score.
    """
    chosen = settings.load()
    folder = settings.whole_path(runs, remedy="Give --runs a whole path.") if runs else chosen.runs
    _check_runs(folder)
    player, budget = _player(files or [], agent, programs, seed)
    order = Order(
        player=player,
        programs=budget,
        strict=bool(files),
        seed=seed,
        feedback=feedback,
        runs=folder,
        as_json=as_json,
    )
    from openmle_env.sandbox.select import create  # only the command that runs pays for its imports
    from openmle_env.task_registry.lookup import find, load_task

    find(task)  # a misspelt name is told before a sandbox is started
    box = create(sandbox or chosen.sandbox, image=chosen.image, warm=warm or chosen.warm)
    try:
        with progress("preparing") as report:
            loaded = load_task(task, sandbox=box, progress=report)
        return play_one(loaded, box, order)
    finally:
        box.close()


def _check_runs(folder: Path) -> None:
    """Refuse what cannot be recorded in, before anything is started."""
    reason = unwritable(folder)
    if not reason:
        return
    message = f"The episode cannot be recorded in {folder}: {reason}. Name a folder with --runs or OPENMLE_RUNS."
    is_wrong_use = reason.endswith("is not a folder")
    raise (UsageError if is_wrong_use else InfrastructureError)(message)


def _player(files: Sequence[Path], agent: str, programs: int | None, seed: int) -> "tuple[Agent, int | None]":
    """Who proposes the programs, and how many there are (None: as many as the task says)."""
    if files and (agent or programs):
        raise UsageError("Give either programs to submit, or --agent with --programs, not both.")
    if files:
        return FromFiles(tuple(read_program(path) for path in files)), len(files)
    if not agent:
        raise UsageError("Give programs to submit, or say who writes them: --agent grammar.")
    if agent not in AGENTS:
        raise unknown_name("agent", agent, AGENTS)
    from openmle_env.agents.grammar import GrammarAgent  # see run

    return GrammarAgent(seed), programs


def read_program(path: Path) -> str:
    """Read a program's source.

    Raises:
        UsageError: It cannot be read, is no plain file, is far too large, or is not UTF-8.
    """
    try:
        if not path.exists():
            raise UsageError(f"There is no file {str(path)!r}. Give the path of a Python program.")
        if not path.is_file():
            raise UsageError(f"{str(path)!r} is not a plain file. Give the path of a Python program.")
        size = path.stat().st_size
        if size > MAX_PROGRAM_BYTES:
            raise UsageError(
                f"{str(path)!r} has {size >> 20} MiB and is no program; at most {MAX_PROGRAM_BYTES >> 20} MiB are read."
            )
        return path.read_bytes().decode("utf-8")
    except OSError as error:
        raise UsageError(f"{str(path)!r} cannot be read: {error.strerror}.") from None
    except UnicodeDecodeError as error:
        raise UsageError(
            f"{str(path)!r} is not UTF-8: byte {error.start} is 0x{error.object[error.start]:02x}. "
            "Save the program as UTF-8."
        ) from None
