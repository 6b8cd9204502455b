"""The shared types: what a program is given, what came of it, and who is at fault.

Standard library only, so that every layer (and `import openmle_env`) can afford it.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field, fields
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

MAX_PROGRAM_CHARACTERS = 200_000
"""The longest program that is run; a longer one is refused with a status, not cut."""

SUBMISSION_NAME = "submission.csv"
"""The file in ``/output`` that a program writes its predictions to."""

MIB = 1 << 20


class Fault(StrEnum):
    """Who has to act on a result. Only an agent's failure is scored as one."""

    NONE = "none"
    AGENT = "agent"
    TASK = "task"
    INFRASTRUCTURE = "infrastructure"


class FeedbackMode(StrEnum):
    """The six feedback modes that the OpenRSI paper distinguishes, for consumers that ask for those."""

    SUCCESS = "success"
    RUNTIME_ERROR = "runtime_error"
    MISSING_CODE = "missing_code"
    MISSING_SUBMISSION = "missing_submission"
    SCORING_FAILED = "scoring_failed"
    TIMEOUT = "timeout"


class ResultStatus(StrEnum):
    """What came of one program. The order is part of the observation space: only append."""

    SUCCESS = "success"
    CODE_MISSING = "code_missing"
    CODE_EXECUTION_ERROR = "code_execution_error"
    SUBMISSION_MISSING = "submission_missing"
    SUBMISSION_INVALID = "submission_invalid"
    METRIC_OR_ANSWER_MISSING = "metric_or_answer_missing"
    SCORING_FAILED = "scoring_failed"
    TIMEOUT = "timeout"
    OUT_OF_MEMORY = "out_of_memory"
    SANDBOX_UNCONFIRMED = "sandbox_unconfirmed"
    CANCELLED = "cancelled"

    @property
    def fault(self) -> Fault:
        """Who has to act on this status.

        >>> ResultStatus.TIMEOUT.fault, ResultStatus.SCORING_FAILED.fault
        (<Fault.AGENT: 'agent'>, <Fault.TASK: 'task'>)
        """
        return _FAULTS[self]

    @property
    def feedback_mode(self) -> FeedbackMode:
        """The nearest of the six feedback modes of the paper."""
        return _FEEDBACK_MODES[self]


_FAULTS = {
    ResultStatus.SUCCESS: Fault.NONE,
    ResultStatus.CODE_MISSING: Fault.AGENT,
    ResultStatus.CODE_EXECUTION_ERROR: Fault.AGENT,
    ResultStatus.SUBMISSION_MISSING: Fault.AGENT,
    ResultStatus.SUBMISSION_INVALID: Fault.AGENT,
    ResultStatus.METRIC_OR_ANSWER_MISSING: Fault.TASK,
    ResultStatus.SCORING_FAILED: Fault.TASK,
    ResultStatus.TIMEOUT: Fault.AGENT,
    ResultStatus.OUT_OF_MEMORY: Fault.AGENT,
    ResultStatus.SANDBOX_UNCONFIRMED: Fault.INFRASTRUCTURE,
    ResultStatus.CANCELLED: Fault.INFRASTRUCTURE,
}

_FEEDBACK_MODES = {
    ResultStatus.SUCCESS: FeedbackMode.SUCCESS,
    ResultStatus.CODE_MISSING: FeedbackMode.MISSING_CODE,
    ResultStatus.CODE_EXECUTION_ERROR: FeedbackMode.RUNTIME_ERROR,
    ResultStatus.SUBMISSION_MISSING: FeedbackMode.MISSING_SUBMISSION,
    ResultStatus.SUBMISSION_INVALID: FeedbackMode.SCORING_FAILED,
    ResultStatus.METRIC_OR_ANSWER_MISSING: FeedbackMode.SCORING_FAILED,
    ResultStatus.SCORING_FAILED: FeedbackMode.SCORING_FAILED,
    ResultStatus.TIMEOUT: FeedbackMode.TIMEOUT,
    ResultStatus.OUT_OF_MEMORY: FeedbackMode.RUNTIME_ERROR,
    ResultStatus.SANDBOX_UNCONFIRMED: FeedbackMode.RUNTIME_ERROR,
    ResultStatus.CANCELLED: FeedbackMode.RUNTIME_ERROR,
}


Warm = Literal["single", "forked", "off"]
"""Where a program runs.

``single``: in a box that has imported the libraries and waits; used once, thrown away, replaced in the background.
``forked``: in one box per episode, forked from a process that has imported them, as a process and user of its own.
``off``: in a box that is made for it.
"""


Box = Literal["fresh", "warm", "forked"]


class Part(StrEnum):
    """A fixed part of the hidden answers: validation steers, test is opened once, all is both."""

    VALIDATION = "validation"
    TEST = "test"
    ALL = "all"


def program_sha256(program: str) -> str:
    """SHA-256 of a program's UTF-8 text, in hexadecimal; lone surrogates are hashed as they are."""
    return hashlib.sha256(program.encode("utf-8", "surrogatepass")).hexdigest()


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """What one program may use. Sizes in MiB, times in seconds.

    Raises:
        UsageError: A limit is not a number, or one that no box could keep.
    """

    wall_seconds: float = 120.0
    """From the program's first statement to its end; imports of a warm box do not count."""
    memory_mb: int = 2048
    """Memory of all processes and of what lies in the writable folders; swap too where a cgroup confines it."""
    cpus: float = 1.0
    """CPU quota where a cgroup confines it; the number of threads that numeric libraries are told."""
    processes: int = 256
    """Processes and threads alive at the same time."""
    open_files: int = 1024
    """Open descriptors of each process; of all processes together no more than 262,144."""
    file_mb: int = 256
    """The largest single file that a program may write."""
    work_mb: int = 512
    """Size of each of ``/work`` and ``/tmp``."""
    output_mb: int = 256
    """Size of ``/output``."""
    shm_mb: int = 64
    """Size of ``/dev/shm``."""
    inodes: int = 20_000
    """Files in each writable folder, folders included."""
    log_kb: int = 64
    """KiB kept of each of stdout and stderr: half from the head, half from the tail."""
    artifact_mb: int = 64
    """The largest artifact, and the sum of all artifacts, that is read back."""
    gpus: int = 0
    """GPUs that the program gets, no other program's at the same time unless the setting ``gpu_sharing`` says so."""

    def __post_init__(self) -> None:
        from openmle_env.errors import UsageError  # errors imports Fault from here

        for item in fields(self):
            value = getattr(self, item.name)
            least, most = _BOUNDS.get(item.name, (1, 1e9))
            wanted = "a whole number from 0 to 64" if item.name == "gpus" else f"from {least:,} to {most:,.0f}"
            if isinstance(value, bool) or not isinstance(value, int | float) or not (0 < value < 1e9 or least == 0):
                wanted = wanted if item.name == "gpus" else "a positive number below 1e9"
                raise UsageError(f"Limit {item.name}={value!r} must be {wanted}.")
            if not least <= value <= most or (item.name == "gpus" and value != int(value)):
                raise UsageError(f"Limit {item.name}={value!r} must be {wanted}.")


_BOUNDS: dict[str, tuple[float, float]] = {
    "wall_seconds": (1e-9, 1e9),
    "memory_mb": (32, 1e9),  # what an interpreter and its supervisor need
    "cpus": (0.01, 1e6),  # with less, a box would not be ready in time
    "processes": (1, 4_000_000),  # the most that Linux can number
    "open_files": (16, 1 << 20),  # the most that Linux gives unless told otherwise
    "inodes": (16, 1e9),
    "gpus": (0, 64),
}
"""The least and most of a limit; less than a unit would be none at all to the kernel, which reads 0 as no limit."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """One program to run, with all that it may see."""

    program: str
    inputs: Mapping[str, Path] = field(default_factory=dict)
    """Read-only folders and files by their absolute path inside the box, such as ``{"/data": public}``."""
    collect: tuple[str, ...] = (SUBMISSION_NAME,)
    """Paths below ``/output`` to read back; one that ends in ``/`` is a folder, read with all below it."""
    limits: Limits = field(default_factory=Limits)
    environment: Mapping[str, str] = field(default_factory=dict)
    """Extra environment variables of the program. Never secrets."""
    modules: tuple[str, ...] | None = None
    """What is imported before the program starts, in a box that waits for jobs like this one (see `Warm`); one that
    cannot be imported is left to the program. None: no box waits, this job gets one of its own."""
    requirements: str = ""
    """Text of a requirements file: extra packages that the program may import. They were installed beforehand
    (``openmle sandbox build --requirements FILE``)."""
    session: str = ""
    """Jobs of one agent's episode: only those may share a box (see `Warm`, ``forked``). Empty: none may."""


class ArtifactState(StrEnum):
    """What was found where an artifact was expected."""

    OK = "ok"
    MISSING = "missing"
    NOT_A_FILE = "not_a_file"
    TOO_LARGE = "too_large"


@dataclass(frozen=True, slots=True, kw_only=True)
class Artifact:
    """One file that a program left in ``/output``, read without following links."""

    name: str
    state: ArtifactState
    content: bytes = b""
    detail: str = ""
    """For people: what it is instead of a file ("a symbolic link"), or how large it is."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Execution:
    """One run of a program in a sandbox. Nothing here was graded yet."""

    status: ResultStatus
    reason: str = ""
    """One sentence for people: why it is not a success, with the limit or value concerned."""
    exit_code: int | None = None
    """Exit code of the program; negative for a signal; None where it was never seen."""
    stdout: str = ""
    stderr: str = ""
    stdout_bytes: int = 0
    """Bytes written, of which ``stdout`` keeps a head and a tail."""
    stderr_bytes: int = 0
    wall_seconds: float = 0.0
    """Run time of the program, measured by the supervisor outside the program's process."""
    total_seconds: float = 0.0
    """From the call of ``run`` to its return, by the host's clock: making and removing the box included."""
    cpu_seconds: float | None = None
    peak_memory_mb: float | None = None
    """The most memory in MiB at a time, as the control group counts it. Where nobody counts it, or the box of the
    session has served a hungrier program and its kernel cannot begin anew: the most of a single process."""
    oom_kills: int = 0
    """Kills counted by the cgroup, or by the memory watch where there is no cgroup."""
    processes_killed: int = 0
    """Processes that outlived the program's main process and were killed."""
    artifacts: Mapping[str, Artifact] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    """What was cut or could not be confined, in words."""
    backend: str = ""
    box: Box = "fresh"
    """What it ran in: a box made for it, one that was ``warm``, or a process ``forked`` in its episode's box."""
    disk_mb: float | None = None
    """What lay in the writable folders when the program ended, in MiB."""
    files: int | None = None
    """Files and folders in the fullest writable folder when the program ended, as the limit ``inodes`` counts them."""
    gpus: tuple[str, ...] = ()
    """Devices that the program was given, by their uuid."""

    @property
    def submission(self) -> Artifact:
        """The artifact ``submission.csv``; its state is missing where there is none."""
        missing = Artifact(name=SUBMISSION_NAME, state=ArtifactState.MISSING)
        return self.artifacts.get(SUBMISSION_NAME, missing)


Feedback = Literal["validation", "validity", "none"]
"""What an agent is told: score and validity; validity without the score; only how the program ran."""

ColumnKind = Literal["integer", "number", "probability", "label", "text"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    """One column of a submission and how its cells are read; never inferred from the data."""

    name: str
    kind: ColumnKind
    labels: tuple[str, ...] = ()
    """For ``label``: every allowed value, in the task's order."""
    blank: bool = False
    """For ``text``: whether an empty cell is a value of its own, such as a mask without pixels or an empty list."""
    description: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class SubmissionSchema:
    """The columns of ``submission.csv``: one id, one or more targets."""

    id: Column
    targets: tuple[Column, ...]

    @property
    def columns(self) -> tuple[str, ...]:
        """Names in the documented order: the id, then the targets."""
        return (self.id.name, *(target.name for target in self.targets))


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """One thing wrong with a submission. Made from the submission and the public specification only."""

    code: str
    """Stable and machine-readable, such as ``wrong_columns`` or ``missing_ids``."""
    message: str
    """For people: what, which value, what to do."""
    count: int = 1
    examples: tuple[str, ...] = ()


Medal = Literal["gold", "silver", "bronze"]


@dataclass(frozen=True, slots=True)
class Place:
    """What a score would have been worth on a board. The score itself is not one of the board's teams."""

    rank: int
    """1 is the best. Equal scores share the better rank; a score that is worse than all has rank ``teams`` + 1."""
    teams: int
    human_rank: float
    """Share of the teams that are strictly beaten, in [0, 1]."""
    medal: Medal | None
    above_median: bool
    """Strictly better than the board's median."""

    def __str__(self) -> str:
        """For people.

        >>> print(Place(rank=2, teams=5, human_rank=0.6, medal="silver", above_median=True))
        rank 2 of 5, better than 60.0% of the teams, silver medal
        >>> print(Place(rank=6, teams=5, human_rank=0.0, medal=None, above_median=False))
        below all 5 teams, no medal
        """
        medal = f"{self.medal} medal" if self.medal else "no medal"
        if self.rank > self.teams:
            return f"below all {self.teams:,} teams, {medal}"
        return f"rank {self.rank:,} of {self.teams:,}, better than {self.human_rank:.1%} of the teams, {medal}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Grade:
    """What the hidden metric says of a submission, on one part of the answers."""

    status: ResultStatus
    part: Part
    score: float | None = None
    """Finite, or None where there is no score."""
    message: str = ""
    problems: tuple[Problem, ...] = ()
    warnings: tuple[str, ...] = ()
    place: Place | None = None
    """Where the score would stand on the task's leaderboard: of the test part, where the task has a board."""

    @property
    def valid(self) -> bool:
        """Whether the submission passed every check and was scored."""
        return self.status is ResultStatus.SUCCESS


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What one step yields: execution, grade and reward."""

    index: int
    """1 for the first program of the episode."""
    status: ResultStatus
    execution: Execution
    grade: Grade | None
    reward: float
    program_sha256: str
    feedback: str
    """What the agent is told, rendered; holds no score where the environment's feedback setting hides it."""

    @property
    def score(self) -> float | None:
        """The validation score, or None."""
        return self.grade.score if self.grade else None


@dataclass(frozen=True, slots=True, kw_only=True)
class PublicFile:
    """One file that a program sees below ``/data``."""

    name: str
    size: int
    """Bytes."""
    rows: int | None = None
    """Records of a CSV file, without the header."""
    columns: tuple[str, ...] = ()
    preview: str = ""
    """The first lines, bounded, for the specification."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskSpec:
    """The public specification of a task: all that an agent may know, none of the answers."""

    slug: str
    version: str
    title: str
    description: str
    """Markdown: problem, data dictionary, metric, submission."""
    modality: str
    task_type: str
    metric: str
    """Name of one of our metrics, or ``pack`` for the pack's own ``metric.py``."""
    higher_is_better: bool
    submission: SubmissionSchema
    files: tuple[PublicFile, ...]
    programs: int
    """How many programs an episode may submit."""
    seconds: float
    """Wall time of an episode."""
    limits: Limits
    reward_bounds: tuple[float, float]
    """Scores that give reward 0 and 1; the first is the worse one, whatever the metric's direction."""
    modules: tuple[str, ...] = ("numpy", "pandas", "sklearn")
    """Libraries that programs may import."""
    warm: tuple[str, ...] = ("numpy", "pandas", "sklearn")
    """What a box that waits has imported (see `Warm`)."""
    metric_parameters: Mapping[str, Any] = field(default_factory=dict, hash=False)
    """Parameters of a metric of ours that are not left at their defaults, in their types."""
    metric_description: str = ""
    """One sentence on a metric of ours."""
    scored_rows: str = ""
    """Which rows are scored, as ``COLUMN = VALUE`` or ``COLUMN != VALUE``; all, if empty. All are to be predicted."""
    has_leaderboard: bool = False
    """Whether the final score is placed on a leaderboard, whose scores are never told."""
