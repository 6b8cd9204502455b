"""Episodes on disk: one folder for each, whole at any moment, so that a kill loses at most the program that runs.

::

    <runs>/titanic-20260131T120000Z-1f3a/
        run.json            task, versions, sandbox, settings, seed
        programs/0001.py    each program, written before it runs
        steps.jsonl         one line for each program, written when it is done
        final.json          the selected program with its test score; there once the episode is over

Files other than ``steps.jsonl`` are written beside their place and renamed. A line of ``steps.jsonl`` is one write,
synced; where the disk is full, the part of it that was written is cut off again.
"""

from __future__ import annotations

import json
import os
import secrets
from contextlib import contextmanager
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import gymnasium
from gymnasium.utils import RecordConstructorArgs

import openmle_env
from openmle_env import settings
from openmle_env.envs.actions import is_program
from openmle_env.envs.task_env import TaskEnv
from openmle_env.errors import DiskFullError, InfrastructureError, UsageError
from openmle_env.files import is_full, write_whole
from openmle_env.types import Fault

if TYPE_CHECKING:
    from collections.abc import Iterator

    from openmle_env.envs.episode import FinalResult
    from openmle_env.types import Grade, Outcome, ResultStatus

FORMAT = 1
"""Version of the files' layout."""

TAIL_CHARACTERS = 4000
"""How much of each of stdout and stderr a line of ``steps.jsonl`` keeps."""

Observation = dict[str, Any]
Info = dict[str, Any]


class EpisodeRecorder(gymnasium.Wrapper[Observation, str, Observation, str], RecordConstructorArgs):
    """Records every episode of a `TaskEnv` in a folder of its own.

    Args:
        env: The environment.
        runs: Folder in which the folders are made; the setting ``OPENMLE_RUNS`` where left out.

    Raises:
        UsageError: ``env`` is not a `TaskEnv`.
    """

    def __init__(self, env: gymnasium.Env[Observation, str], runs: str | Path | None = None) -> None:
        RecordConstructorArgs.__init__(self, runs=None if runs is None else str(runs))
        super().__init__(env)
        if not isinstance(env.unwrapped, TaskEnv):
            raise UsageError(f"EpisodeRecorder records a TaskEnv; this is {type(env.unwrapped).__name__}.")
        self._task_env = env.unwrapped
        self._runs = Path(runs) if runs is not None else settings.load().runs
        self._folder: Path | None = None

    @property
    def folder(self) -> Path:
        """Folder of the episode.

        Raises:
            UsageError: There was no `reset` yet.
        """
        if self._folder is None:
            raise UsageError("There is no episode yet: call reset() first.")
        return self._folder

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Observation, Info]:
        """Start an episode and its folder.

        Raises:
            DiskFullError: There is no space for it.
            InfrastructureError: The folder cannot be written.
        """
        result = self.env.reset(seed=seed, options=options)
        described = self._task_env.describe()
        created = datetime.now(UTC)
        with _storage_errors(self._runs):
            self._folder = _new_folder(self._runs, f"{described['task']}-{created:%Y%m%dT%H%M%SZ}")
            (self._folder / "programs").mkdir()
            _write_json(
                self._folder / "run.json",
                {
                    "format": FORMAT,
                    "openmle_env": openmle_env.__version__,
                    "created": created.isoformat(timespec="seconds"),
                    "seed": seed,
                    **described,
                },
            )
        return result

    def step(self, action: str) -> tuple[Observation, float, bool, bool, Info]:
        """Write the program, run it, write what came of it.

        Raises:
            DiskFullError: There is no space; records of earlier programs are whole.
            InfrastructureError: The folder cannot be written.
        """
        folder = self.folder
        if self._task_env.running and is_program(action):
            # Over the program of a step that was interrupted, which has no line and leaves its number to this one.
            path = folder / "programs" / f"{self._task_env.next_index:04}.py"
            with _storage_errors(folder):
                write_whole(path, action.encode("utf-8", "surrogatepass"))
        observation, reward, terminated, truncated, info = self.env.step(action)
        with _storage_errors(folder):
            if "outcome" in info:
                _append_json(folder / "steps.jsonl", _step_record(info["outcome"]))
            if "final" in info:
                _write_json(folder / "final.json", _final_record(info["final"], terminated, truncated))
        return observation, float(reward), terminated, truncated, info


def _step_record(outcome: Outcome) -> dict[str, Any]:
    execution = outcome.execution
    return {
        "index": outcome.index,
        "program_sha256": outcome.program_sha256,
        "status": outcome.status,
        "fault": _fault(outcome.status),
        "reason": execution.reason,
        "validation": _grade_record(outcome.grade),
        "reward": outcome.reward,
        "exit_code": execution.exit_code,
        "wall_seconds": execution.wall_seconds,
        "total_seconds": execution.total_seconds,
        "cpu_seconds": execution.cpu_seconds,
        "peak_memory_mb": execution.peak_memory_mb,
        "disk_mb": execution.disk_mb,
        "files": execution.files,
        "oom_kills": execution.oom_kills,
        "processes_killed": execution.processes_killed,
        "backend": execution.backend,
        "box": execution.box,
        "gpus": list(execution.gpus),
        "notes": list(execution.notes),
        "stdout_tail": execution.stdout[-TAIL_CHARACTERS:],
        "stderr_tail": execution.stderr[-TAIL_CHARACTERS:],
    }


def _final_record(final: FinalResult, terminated: bool, truncated: bool) -> dict[str, Any]:
    return {
        "selected": final.selected,
        "validation_score": final.validation_score,
        "test_score": final.test_score,
        "test": _grade_record(final.grade),
        "place": asdict(final.place) if final.place else None,
        "fault": _fault(final.grade.status) if final.grade else None,
        "looks": dict(final.looks),
        "note": final.note,
        "terminated": terminated,
        "truncated": truncated,
    }


def _fault(status: ResultStatus) -> Fault | None:
    """Who has to act where the result must not be scored as the agent's, else None."""
    return status.fault if status.fault in {Fault.TASK, Fault.INFRASTRUCTURE} else None


def _grade_record(grade: Grade | None) -> dict[str, Any] | None:
    if grade is None:
        return None
    return {
        "status": grade.status,
        "score": grade.score,
        "message": grade.message,
        "problems": [
            {"code": problem.code, "message": problem.message, "count": problem.count} for problem in grade.problems
        ],
        "warnings": list(grade.warnings),
    }


def _new_folder(parent: Path, name: str) -> Path:
    """Make a folder whose name starts with ``name`` and was not there before."""
    parent.mkdir(parents=True, exist_ok=True)
    while True:
        folder = parent / f"{name}-{secrets.token_hex(2)}"
        try:
            folder.mkdir()
        except FileExistsError:
            continue
        return folder


def _write_json(path: Path, value: dict[str, Any]) -> None:
    write_whole(path, (_dump(value, indent=2) + "\n").encode())


def _append_json(path: Path, value: dict[str, Any]) -> None:
    line = (_dump(value) + "\n").encode()
    with path.open("ab", buffering=0) as file:
        start = file.tell()
        try:
            while line:
                line = line[file.write(line) :]
            os.fsync(file.fileno())
        except OSError:
            file.truncate(start)
            raise


def _dump(value: dict[str, Any], indent: int | None = None) -> str:
    # ASCII, since the output of a program may hold lone surrogates; never NaN, which is no JSON.
    return json.dumps(value, indent=indent, allow_nan=False)


@contextmanager
def _storage_errors(folder: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        if is_full(error):
            raise DiskFullError(
                f"No space is left to record the episode in {folder}. What was recorded before is whole. "
                "Free space, or set OPENMLE_RUNS or --runs to a folder with some, and run again."
            ) from error
        raise InfrastructureError(
            f"The episode cannot be recorded in {folder}: {error.strerror}. "
            "Set OPENMLE_RUNS or --runs to a folder that you may write to."
        ) from error
