"""The arguments of an environment, checked before anything is started."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

from openmle_env.envs.observation import MAX_PROGRAMS, MAX_SECONDS
from openmle_env.envs.rewards import Reward
from openmle_env.errors import UsageError, unknown_name
from openmle_env.sandbox import select
from openmle_env.sandbox.protocol import Sandbox
from openmle_env.types import Feedback, Limits, Warm

if TYPE_CHECKING:
    from openmle_env.types import TaskSpec

RENDER_MODES = ("ansi",)


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """What `openmle_env.envs.task_env.TaskEnv` was asked for; None stands for the task's own value."""

    task: str | Path
    """Name of a built-in task, or path of a pack."""
    sandbox: str | Sandbox = "auto"
    """Name of a backend, or one that its owner closes."""
    warm: Warm | None = None
    """Where programs run; None is what the setting says, or the sandbox that was given."""
    feedback: Feedback = "validation"
    """How much the agent is told."""
    reward: Reward = "normalized"
    """What `step` returns as its reward."""
    programs: int | None = None
    """Programs that an episode may submit."""
    seconds: float | None = None
    """Wall time of an episode."""
    limits: Limits | Mapping[str, float] | None = None
    """What one program may use; a mapping changes only the limits that it names."""
    render_mode: str | None = None
    """``ansi`` or None."""
    pack_version: str | None = None
    """The version that the installed pack must have."""
    pack_hash: str | None = None
    """The hash that the installed pack must have."""

    def __post_init__(self) -> None:
        if not isinstance(self.task, str | Path):
            raise UsageError(f"task={self.task!r} should be the name of a task, such as 'titanic', or a pack's path.")
        if not isinstance(self.sandbox, str | Sandbox):
            raise UsageError(f"sandbox={self.sandbox!r} should be the name of a sandbox, such as 'auto', or a sandbox.")
        if isinstance(self.sandbox, str):
            _check_choice("sandbox", self.sandbox, ("auto", *select.NAMES))
        if self.warm is not None:
            self._check_warm()
        _check_choice("feedback", self.feedback, get_args(Feedback))
        _check_choice("reward", self.reward, get_args(Reward))
        if self.render_mode is not None:
            _check_choice("render_mode", self.render_mode, RENDER_MODES)
        if self.programs is not None and not (_is_int(self.programs) and 1 <= self.programs <= MAX_PROGRAMS):
            raise UsageError(f"programs={self.programs!r} should be a whole number from 1 to {MAX_PROGRAMS:,}.")
        if self.seconds is not None and not (_is_real(self.seconds) and 0 < self.seconds <= MAX_SECONDS):
            raise UsageError(f"seconds={self.seconds!r} should be a number of seconds, more than 0 and at most 1e9.")
        if self.limits is not None:
            self._limits(Limits())

    def applied(self, spec: TaskSpec) -> TaskSpec:
        """The task with the budgets and limits that were asked for."""
        return replace(
            spec,
            programs=spec.programs if self.programs is None else int(self.programs),
            seconds=spec.seconds if self.seconds is None else float(self.seconds),
            limits=spec.limits if self.limits is None else self._limits(spec.limits),
        )

    def _check_warm(self) -> None:
        _check_choice("warm", self.warm, get_args(Warm))
        given = None if isinstance(self.sandbox, str) else getattr(self.sandbox, "warm", "off")
        if given not in {None, self.warm}:
            raise UsageError(
                f"warm={self.warm!r} is for a sandbox that the environment makes, and the one that it was given has "
                f"warm={given!r}. Leave it out, or make the sandbox so: select.create(..., warm={self.warm!r})."
            )

    def _limits(self, base: Limits) -> Limits:
        if isinstance(self.limits, Limits):
            return self.limits
        if not isinstance(self.limits, Mapping):
            raise UsageError(f"limits={self.limits!r} should be a Limits or a mapping, such as {{'wall_seconds': 60}}.")
        known = [item.name for item in fields(Limits)]
        for name in self.limits:
            if name not in known:
                raise unknown_name("limit", str(name), known)
        changed: dict[str, Any] = dict(self.limits)
        return replace(base, **changed)


def _check_choice(argument: str, value: object, choices: tuple[str, ...]) -> None:
    if value in choices:
        return
    close = get_close_matches(value, choices, n=1) if isinstance(value, str) else []
    hint = f" Did you mean {close[0]!r}?" if close else ""
    raise UsageError(f"{argument}={value!r} should be one of {', '.join(map(repr, choices))}.{hint}")


def _is_int(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _is_real(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
