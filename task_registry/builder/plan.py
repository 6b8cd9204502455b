"""What a task is about, as a model decides it once and every later stage keeps to."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from pydantic import Field, ValidationError, field_validator, model_validator

from openmle_env.errors import PackError
from openmle_env.files import write_whole
from openmle_env.task_registry.pack import Block

if TYPE_CHECKING:
    from pathlib import Path

MAX_TARGETS = 200
Name = Annotated[str, Field(min_length=1, max_length=200)]


class Plan(Block):
    """Columns and kind of a task."""

    title: Annotated[str, Field(min_length=3, max_length=200)]
    """One line for lists."""
    modality: Name
    """tabular, text, image and so on, or several joined by ``+``."""
    task_type: Name
    """binary classification, regression and so on."""
    sources: Annotated[tuple[Name, ...], Field(min_length=1, max_length=50)]
    """The raw files with known answers."""
    id: Name
    """The column that names a row."""
    targets: Annotated[tuple[Name, ...], Field(min_length=1, max_length=MAX_TARGETS)]
    """The columns to be predicted."""
    groups: str = ""
    """The column whose rows stay together in the split."""
    reason: str = ""
    """Why."""

    @field_validator("title", "modality", "task_type", "id", "groups")
    @classmethod
    def _is_one_line(cls, value: str) -> str:
        return _one_line(value)

    @field_validator("targets", "sources")
    @classmethod
    def _are_one_line(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(_one_line(name) for name in value)

    @model_validator(mode="after")
    def _names_differ(self) -> Plan:
        names = self.columns
        if len(set(names)) != len(names):
            raise ValueError("the id and the targets have to be different columns")
        return self

    @property
    def columns(self) -> tuple[str, ...]:
        """Of a submission: the id, then the targets."""
        return (self.id, *self.targets)


def read(path: Path) -> Plan:
    """Read a plan that was written before.

    Raises:
        PackError: It is not there, or somebody broke it.
    """
    try:
        return Plan.model_validate_json(path.read_bytes())
    except OSError as error:
        raise PackError(f"{path} cannot be read: {error.strerror}. Run the stage 'describe' again.") from error
    except ValidationError as error:
        faults = "; ".join(f"{'.'.join(map(str, fault['loc']))}: {fault['msg']}" for fault in error.errors())
        raise PackError(f"{path} is no plan of a task: {faults}. Correct it, or run 'describe' again.") from None


def write(path: Path, plan: Plan) -> None:
    """Write a plan, whole."""
    write_whole(path, (plan.model_dump_json(indent=1) + "\n").encode())


def _one_line(value: str) -> str:
    if value != value.strip() or not value.isprintable():
        raise ValueError("it should be one line without blanks around it")
    return value
