"""The format of ``pack.yaml``: one frozen model for each block, each key documented.

Every block has a default, so that a plain OpenMLE folder, which has no ``pack.yaml`` at all, needs no case of its own:
what is left out is inferred when the pack is prepared (see `openmle_env.task_registry.learn`).
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    StrictBool,
    ValidationInfo,
    field_validator,
    model_validator,
)
from pydantic_core import PydanticCustomError

from openmle_env.graders.loading.cells import check_schema
from openmle_env.task_registry.pack_values import (
    Count,
    Digest,
    FileName,
    InsidePath,
    ModuleName,
    Number,
    Parameter,
    Seconds,
    Sha256,
    Slug,
    Text,
    is_number,
)
from openmle_env.types import Column, ColumnKind, Limits, ResultStatus, SubmissionSchema

if TYPE_CHECKING:
    from collections.abc import Mapping

    from openmle_env.graders.metrics import Metric as OurMetric


class Block(BaseModel):
    """Base of every block: unknown keys are refused and values never change."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)


class Metric(Block):
    """How a submission is scored."""

    name: Text = "pack"
    """One of our metrics (``accuracy``), or ``pack`` for the pack's own ``utils/metric.py``."""
    parameters: dict[str, Parameter] = {}
    """Parameters of a metric of ours: ``{k: 5}``. What they are and mean: ``openmle metrics NAME``."""
    rows: str = ""
    """Which rows are scored: ``COLUMN = VALUE`` or ``COLUMN != VALUE``, by a column of the answers; all, if empty."""
    higher_is_better: StrictBool | None = None
    """The direction. Left out, it is asked of the metric; stated, it must agree with it."""
    seconds: Seconds = Limits().wall_seconds
    """For the pack's own metric: what one score may take. More is a fault of the task."""
    memory_mb: Count = Limits().memory_mb
    """For the pack's own metric: the memory of one score, in MiB."""

    @field_validator("name")
    @classmethod
    def _exists(cls, value: str) -> str:
        if value != "pack":
            _ours(value, {})
        return value

    @field_validator("parameters")
    @classmethod
    def _are_the_metrics(cls, value: dict[str, Any], info: ValidationInfo) -> dict[str, Any]:
        if value and "name" in info.data:
            if info.data["name"] == "pack":
                raise ValueError("parameters belong to a metric of ours, and the metric is the pack's own")
            _ours(info.data["name"], value)
        return value

    @field_validator("rows")
    @classmethod
    def _is_a_condition(cls, value: str) -> str:
        from openmle_env.graders.answers import Condition

        Condition.parse(value)
        return value

    @field_validator("higher_is_better")
    @classmethod
    def _agrees(cls, value: bool | None, info: ValidationInfo) -> bool | None:
        name = info.data.get("name", "pack")
        if value is not None and name != "pack" and value is not (right := _ours(name, {}).higher_is_better):
            raise ValueError(f"of {name!r} it is {str(right).lower()}. Correct it, or leave it out")
        return value

    @field_validator("seconds", "memory_mb")
    @classmethod
    def _bounds_the_packs_own(cls, value: float, info: ValidationInfo) -> float:
        if info.data.get("name", "pack") != "pack":
            raise ValueError(f"it bounds a pack's own metric, and the metric is {info.data['name']!r} of ours")
        return value

    @model_validator(mode="after")
    def _a_box_can_keep_them(self) -> Metric:
        self.limits()  # its own check says which value is out of range
        return self

    def ours(self) -> OurMetric | None:
        """The metric of ours with its parameters; None for the pack's own."""
        return None if self.name == "pack" else _ours(self.name, self.parameters)

    def limits(self) -> Limits:
        """What one score of the pack's own metric may use."""
        return Limits(wall_seconds=self.seconds, memory_mb=self.memory_mb)


def _ours(name: str, parameters: Mapping[str, object]) -> OurMetric:
    from openmle_env.graders import metrics  # numpy

    return metrics.get(name, parameters)


class Board(Block):
    """The leaderboard of a competition, on which final scores are placed. No agent ever sees it."""

    file: InsidePath
    """A CSV file of the pack with one row for each team."""
    column: Text | None = None
    """Its column of scores; the one called ``score``, in any case, if left out."""
    cap: Number | None = None
    """Teams with a better score than this are left out: those that knew the answers."""


def _lacks(key: str, meaning: str) -> PydanticCustomError:
    """The fault of a block whose other values ask for ``key``."""
    return PydanticCustomError("lacks", "{key} is missing: {meaning}. Add it.", {"key": key, "meaning": meaning})


class IdBlock(Block):
    """The id of a submission."""

    name: Text
    """Its header in the file."""
    kind: Literal["integer", "text"]
    """How its cells are read."""
    description: str = ""
    """What it means, for the agent."""

    def column(self) -> Column:
        """The same as the type that the rest of the package uses."""
        return Column(name=self.name, kind=self.kind, description=self.description)


class ColumnBlock(Block):
    """One predicted column of a submission."""

    name: Text
    """Its header in the file."""
    kind: ColumnKind
    """How its cells are read: integer, number, probability, label or text."""
    labels: tuple[str, ...] = ()
    """For ``label``: every allowed value."""
    blank: StrictBool = False
    """For ``text``: whether an empty cell is a value of its own, such as a mask without pixels or an empty list."""
    description: str = ""
    """What it means, for the agent."""

    @model_validator(mode="after")
    def _labels_fit(self) -> ColumnBlock:
        if self.kind == "label" and not self.labels:
            raise _lacks("labels", "it lists every allowed value of a column of kind 'label'")
        if self.kind != "label" and self.labels:
            raise ValueError(f"'labels' belongs to columns of kind 'label', and this one is of kind {self.kind!r}")
        if self.blank and self.kind != "text":
            raise ValueError(f"'blank' belongs to columns of kind 'text', and this one is of kind {self.kind!r}")
        if len(set(self.labels)) != len(self.labels):
            raise ValueError("'labels' holds a value twice")
        for label in self.labels:
            if not label or label != label.strip():
                raise ValueError(f"the label {label!r} is empty or has blanks around it, and no cell is read as such")
        return self

    def column(self) -> Column:
        """The same as the type that the rest of the package uses."""
        return Column(
            name=self.name, kind=self.kind, labels=self.labels, blank=self.blank, description=self.description
        )


class Submission(Block):
    """The columns of ``submission.csv``."""

    id: IdBlock
    """The column that names the row."""
    targets: Annotated[tuple[ColumnBlock, ...], Field(min_length=1)]
    """What is predicted."""

    @model_validator(mode="after")
    def _names_differ(self) -> Submission:
        names = [self.id.name, *(target.name for target in self.targets)]
        if len(set(names)) != len(names):
            raise ValueError("two columns have the same name")
        check_schema(self.as_schema())
        return self

    def as_schema(self) -> SubmissionSchema:
        """The same as the type that the rest of the package uses."""
        return SubmissionSchema(id=self.id.column(), targets=tuple(target.column() for target in self.targets))


class Split(Block):
    """How the hidden answers fall into a validation part, which steers, and a test part, which is opened once."""

    method: Literal["hash", "column", "none"] = "hash"
    """``hash`` of the id, a ``column`` of the answers, or ``none`` where the metric does not decompose."""
    validation_fraction: Annotated[float, Field(strict=True, gt=0, lt=1)] = 0.5
    """For ``hash``: the share of the validation part."""
    salt: str = "openmle"
    """For ``hash``: stands before the id. A new salt is a new split: raise the pack's version with it."""
    column: str = ""
    """For ``column``: its name; each cell is ``validation`` or ``test``."""

    @model_validator(mode="after")
    def _column_fits(self) -> Split:
        if self.method == "column" and not self.column:
            raise _lacks("column", "it names the column of the answers that states the part of each row")
        if self.method != "column" and self.column:
            raise ValueError(f"'column' belongs to the method 'column', and the method is {self.method!r}")
        return self


class Data(Block):
    """Where the data comes from and who may use it."""

    licence: str = "not stated"
    """Licence of the data, by its SPDX name where it has one."""
    source: str = "not stated"
    """Where the data was taken from, with version and hash."""
    notes: str = ""
    """How the licence is known, and what was changed."""
    origin: str = ""
    """A name for what the task is made of, where others are made of the same: a split of tasks keeps these together."""


class Download(Block):
    """A file that is fetched when the pack is prepared; nothing of it is installed or run."""

    registry: Literal["pypi", "npm", "debian", "url"]
    """Who is asked for it: a package registry, through its own client's settings, or an address (``url``)."""
    package: str = ""
    """For a registry: the package's name."""
    version: str = ""
    """For a registry: the package's version."""
    url: str = ""
    """For ``url``: the address."""
    file: FileName
    """Name of the file."""
    size: Count
    """Bytes of the file."""
    sha256: Sha256
    """SHA-256 of the file."""
    members: dict[Text, InsidePath] = {}
    """What is taken out of an archive: its name there, or a pattern with ``*``, and the file below ``raw/`` that it
    becomes; for a pattern the folder. Left out, the file itself becomes ``raw/<file>``."""

    @model_validator(mode="after")
    def _source_fits(self) -> Download:
        if self.registry == "url":
            if not self.url.startswith(("https://", "http://", "file://")):
                raise ValueError(f"url is {self.url!r}; give an address that starts with https://")
            if self.package or self.version:
                raise ValueError("'package' and 'version' belong to a registry, and the registry is 'url'")
        else:
            if self.url:
                raise ValueError(f"'url' belongs to the registry 'url', and the registry is {self.registry!r}")
            for key in ("package", "version"):
                if not getattr(self, key):
                    raise _lacks(key, f"the registry {self.registry!r} is asked for a package by name and version")
        return self


class Accepted(Block):
    """A finding of the quality gate that the author has looked at and answers for."""

    check: Text
    """Name of the check, as ``openmle pack check`` prints it."""
    reason: Text
    """Why the task is sound all the same. It is shown in every report."""


class Budget(Block):
    """What one episode may use."""

    programs: Count = 8
    """How many programs may be submitted."""
    seconds: Seconds = 3600.0
    """Wall time of the episode."""


class Preparation(Block):
    """What ``utils/prepare.py`` may use."""

    seconds: Seconds = 600.0
    """Wall time."""
    memory_mb: Count = 4096
    """Memory, in MiB."""
    disk_mb: Annotated[int, Field(strict=True, ge=1, lt=10**9)] = 1024
    """What it may write, in MiB."""

    @model_validator(mode="after")
    def _a_box_can_keep_them(self) -> Preparation:
        self.limits()  # its own check says which value is out of range
        return self

    def limits(self) -> Limits:
        """The same for a sandbox."""
        return Limits(
            wall_seconds=self.seconds,
            memory_mb=self.memory_mb,
            file_mb=self.disk_mb,
            work_mb=self.disk_mb,
            output_mb=self.disk_mb,
            artifact_mb=self.disk_mb,
        )


class Hardware(Block):
    """What the task is meant for."""

    gpus: Annotated[int, Field(strict=True, ge=0)] = 0
    """Graphics processors that a program gets, and without which the task cannot be played."""
    note: str = ""
    """Anything else worth knowing, for its card."""

    @field_validator("gpus")
    @classmethod
    def _a_box_can_have_them(cls, value: int) -> int:
        Limits(gpus=value)  # its own check says what is possible
        return value


class Rewards(Block):
    """The two scores between which a reward runs from 0 to 1."""

    worst: Number
    """Reward 0: what a trivial submission scores on the validation part."""
    best: Number
    """Reward 1."""

    @model_validator(mode="after")
    def _differ(self) -> Rewards:
        if math.isclose(self.worst, self.best):
            raise ValueError("'worst' and 'best' are the same score")
        return self


class Reference(Block):
    """A program that comes with the pack, and what it was measured to score."""

    name: Slug
    """Short name."""
    title: Text
    """One line for tables."""
    program: InsidePath
    """The program's file."""
    validation_score: Number | None = None
    """On the validation part; rewritten by ``scripts/measure_references.py``."""
    test_score: Number | None = None
    """On the test part; rewritten by the same script."""
    tolerance: Annotated[float, Field(strict=True, ge=0)] = 0.0
    """How far a score may lie from the recorded one elsewhere: other library versions move some models a little."""


class Broken(Block):
    """A program that is known to be wrong, so that tests can tell that a wrong one is noticed."""

    program: InsidePath
    """The program's file."""
    status: ResultStatus
    """What comes of it."""


class PackConfig(Block):
    """The whole of ``pack.yaml``."""

    slug: Slug
    """The task's name; the folder's name where it is left out."""
    version: Text = "0"
    """Raised whenever data, split or metric change."""
    title: str = ""
    """One line for lists."""
    modality: Text = "unknown"
    """tabular, text, image, audio, time series, video or a combination."""
    task_type: Text = "unknown"
    """binary classification, regression, and so on."""
    description: InsidePath | None = None
    """The problem in Markdown. Left out, ``data/public/description.md`` or ``.txt`` is used."""
    metric: Metric = Metric()
    """How a submission is scored."""
    submission: Submission | None = None
    """Columns of a submission. Left out, they are inferred from the sample submission and the answers."""
    split: Split = Split()
    """The two hidden parts."""
    data: Data = Data()
    """Licence and source."""
    tier: Annotated[int, Field(strict=True, ge=1, le=3)] = 2
    """1: sound, and tells good agents from bad ones; 2: usable; 3: for trying things out."""
    downloads: tuple[Download, ...] = ()
    """Files that are fetched when the pack is prepared, for its script to read in ``raw/``."""
    budget: Budget = Budget()
    """What an episode may use."""
    preparation: Preparation = Preparation()
    """What the pack's script may use."""
    limits: dict[str, Annotated[int | float, BeforeValidator(is_number)]] = {}
    """What one program may use: keys and units of `openmle_env.types.Limits`."""
    modules: tuple[str, ...] = ("numpy", "pandas", "sklearn")
    """Libraries that programs may count on."""
    requirements: InsidePath | None = None
    """A requirements file of the pack: extra packages for its own code and for programs."""
    warm: tuple[ModuleName, ...] | None = None
    """What a box that waits for a program has imported. Left out, it is what `modules` says; ``[]`` is nothing."""
    hardware: Hardware = Hardware()
    """What the task is meant for."""
    leaderboard: Board | None = None
    """The leaderboard of a competition. Left out, final scores have no place and no medal."""
    rewards: Rewards | None = None
    """Bounds of rewards. Left out: from the score of the sample submission to the score of the answers themselves."""
    references: tuple[Reference, ...] = ()
    """Programs with their measured scores, the trivial one first."""
    measured_in: str = ""
    """Library versions with which the references were measured."""
    broken: Broken | None = None
    """The known-bad program."""
    contents: dict[InsidePath, Digest] = {}
    """SHA-256 of every prepared file, as ``public/train.csv``. What is not listed is not prepared. Where a format's
    bytes vary between library versions, ``values:`` and the SHA-256 over what the file says."""
    accepted: tuple[Accepted, ...] = ()
    """Findings of the quality gate that the author answers for."""

    @field_validator("limits")
    @classmethod
    def _limits_exist(cls, value: dict[str, int | float]) -> dict[str, int | float]:
        from openmle_env.errors import unknown_name  # only needed to word the error

        known = Limits.__dataclass_fields__
        for name in value:
            if name not in known:
                raise unknown_name("limit", name, known)
        Limits(**value)  # type: ignore[arg-type]  # its own check says which value is out of range
        return value

    @field_validator("contents")
    @classmethod
    def _contents_have_a_side(cls, value: dict[str, str]) -> dict[str, str]:
        for name in value:
            if not name.startswith(("public/", "private/")):
                raise ValueError(f"{name!r} should start with 'public/' or 'private/'")
        return value

    def program_limits(self) -> Limits:
        """The limits of one program, with the GPUs of `hardware` unless `limits` states another number."""
        return Limits(**{"gpus": self.hardware.gpus, **self.limits})  # type: ignore[arg-type]  # checked above

    def warm_modules(self) -> tuple[str, ...]:
        """What a box that waits for a program has imported."""
        return self.modules if self.warm is None else self.warm
