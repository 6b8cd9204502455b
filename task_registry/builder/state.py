"""What became of each stage of each pack that is built: one file for a task, written whole, read after a kill."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from pydantic import Field, ValidationError

from openmle_env.errors import PackError
from openmle_env.files import write_whole
from openmle_env.task_registry.pack import Block

if TYPE_CHECKING:
    from pathlib import Path

StageName = Literal["download", "extract", "perceive", "describe", "prepare", "metric", "check"]
STAGES: tuple[StageName, ...] = ("download", "extract", "perceive", "describe", "prepare", "metric", "check")
"""In this order: each reads what the ones before it made."""
MODEL_STAGES: frozenset[StageName] = frozenset({"perceive", "describe", "prepare", "metric"})
"""Those that ask a model."""
STATE_FILE = "state.json"
FORMAT = 1

Status = Literal["excluded", "unobtainable", "failed", "unfinished", "passed"]
"""``excluded``: a benchmark has a task of this name; ``unobtainable``: its data cannot be had, for no fault of ours;
``failed``: a stage gave up; ``unfinished``: a stage is still to run; ``passed``: all stages are done."""
STATUSES: tuple[Status, ...] = ("excluded", "unobtainable", "failed", "unfinished", "passed")


class Stage(Block):
    """What came of one stage."""

    outcome: Literal["done", "failed", "unobtainable"]
    """Whether it is done; if not, the next run tries it again."""
    inputs: str
    """SHA-256 of what it read. It is skipped only as long as that is the same."""
    tries: int = 1
    """How often something was made before it was right, or given up."""
    reason: str = ""
    """Why it is not done."""
    seconds: float = 0.0
    """Wall time."""
    model: str = ""
    """Who was asked."""
    input_tokens: int | None = None
    """Tokens sent, as far as the servers say; None where no reply said."""
    output_tokens: int | None = None
    """Tokens received, the same."""
    cost: float | None = None
    """US dollars; None where it is not known."""


class TaskState(Block):
    """One task on its way to a pack."""

    format: int = FORMAT
    """Of this file."""
    slug: str
    """The pack's name."""
    kind: Literal["competition", "dataset", "folder"]
    """What it is built from."""
    name: str
    """Which one."""
    excluded: str = ""
    """The benchmark that has a task of this name, where it was left out for that."""
    stages: dict[StageName, Stage] = Field(default_factory=dict)
    """Those that were run."""
    notes: tuple[str, ...] = ()
    """What was left out and why, such as a leaderboard that says nothing."""

    @property
    def status(self) -> Status:
        """What became of it so far."""
        if self.excluded:
            return "excluded"
        outcomes = {stage.outcome for stage in self.stages.values()}
        if "unobtainable" in outcomes:
            return "unobtainable"
        if "failed" in outcomes:
            return "failed"
        return "passed" if all(name in self.stages for name in STAGES) else "unfinished"

    @property
    def reason(self) -> str:
        """Why it is not passed; empty where nothing stands in the way."""
        if self.excluded:
            return f"{self.excluded} has a task of this name"
        for name in STAGES:
            stage = self.stages.get(name)
            if stage is not None and stage.outcome != "done":
                return f"{name}: {stage.reason}"
        return ""

    def done(self, name: StageName) -> bool:
        """Whether a stage is done."""
        return name in self.stages and self.stages[name].outcome == "done"

    def without(self, name: StageName) -> TaskState:
        """The state in which a stage and all after it are still to run."""
        kept = {other: self.stages[other] for other in STAGES[: STAGES.index(name)] if other in self.stages}
        return self.model_copy(update={"stages": kept})


def read(folder: Path) -> TaskState | None:
    """The state of the task that is built in ``folder``; None where there is none.

    Raises:
        PackError: The file cannot be read, or is of another version of this package.
    """
    path = folder / STATE_FILE
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        return None
    except (OSError, UnicodeDecodeError) as error:
        raise PackError(f"{path} cannot be read: {error}. Remove it to build this task anew.") from error
    try:
        state = TaskState.model_validate_json(text)
    except ValidationError as error:
        raise PackError(
            f"{path} is no state of a build ({error.error_count()} faults). Remove it to build this task anew."
        ) from None
    if state.format != FORMAT:
        raise PackError(f"{path} has format {state.format}, and this version writes {FORMAT}. Remove it to build anew.")
    return state


def write(folder: Path, state: TaskState) -> None:
    """Write the state of the task that is built in ``folder``; whoever reads meanwhile sees the old or the new one."""
    write_whole(folder / STATE_FILE, (state.model_dump_json(indent=1) + "\n").encode())
