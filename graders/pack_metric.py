"""A pack's own ``metric.py``, run in a sandbox on the answers and the submission as data; never in our process."""

from __future__ import annotations

import csv
import hashlib
import json
import logging
import math
import re
import threading
from functools import cached_property
from importlib.resources import files
from typing import TYPE_CHECKING, Any

import numpy as np

from openmle_env import scratch
from openmle_env.errors import InfrastructureError, PackError
from openmle_env.graders.loading.cells import PLAIN_INTEGER
from openmle_env.graders.scored import Scored
from openmle_env.types import ArtifactState, Fault, Job, Limits, ResultStatus

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from openmle_env.graders.rows import Array, Rows
    from openmle_env.sandbox.protocol import CancelToken, Sandbox
    from openmle_env.types import Column, Problem, SubmissionSchema

    _Question = tuple[Rows, Rows, Sequence[int] | Array]

_log = logging.getLogger(__name__)

_RESULT = "result.json"
_EXCEPTION = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,80}")

_NOT_THE_SUBMISSION = "This is a fault of the task, not of the submission."
_FAILURES = {
    "load": (ResultStatus.METRIC_OR_ANSWER_MISSING, f"The task's metric cannot be loaded. {_NOT_THE_SUBMISSION}"),
    # Its own words go to whoever was named for them, and nowhere else: they may quote the answers.
    "validate": (ResultStatus.SUBMISSION_INVALID, "The task's own check refused the submission; its form is right."),
    "evaluate": (ResultStatus.SCORING_FAILED, f"The task's metric failed. {_NOT_THE_SUBMISSION}"),
    "not_finite": (ResultStatus.SCORING_FAILED, f"The task's metric gave no finite score. {_NOT_THE_SUBMISSION}"),
}

_WARNINGS = {"class_name": "The metric's class has a name that does not end in 'Metrics'."}
"""What the program in the box may warn of, by its codes. The words are ours: its own could quote the answers."""

_directions: dict[bytes, bool] = {}
"""What the code of a metric, by its SHA-256, said of its direction; asked once in a process."""
_asking = threading.Lock()


class PackMetric:
    """The metric of a pack, as a `openmle_env.graders.scored.Scorer`. Safe to call from several threads at once.

    Each score is one run of the pack's code in a fresh box that sees the metric, the answers, the predictions and which
    rows are scored, and nothing else. The pack's own check gets all rows, its metric those of the part.
    """

    name = "pack"

    def __init__(
        self,
        code: Path,
        sandbox: Sandbox,
        *,
        limits: Limits | None = None,
        requirements: str = "",
        higher_is_better: bool | None = None,
        details: Callable[[str], None] | None = None,
    ) -> None:
        """Prepare to score; nothing runs yet.

        Args:
            code: The pack's ``utils/metric.py``; read once, at the first use, so that it cannot change in between.
            sandbox: Where it runs.
            limits: What one score may use; by default what `openmle_env.types.Limits` says.
            requirements: Extra packages that it imports (see `openmle_env.types.Job`).
            higher_is_better: The direction where the pack states it; it must be what the code says, too. If None,
                the code is asked once, in the sandbox.
            details: Told what the metric said where it failed, its traces included. They may quote the hidden answers:
                give what keeps them from agents, such as `openmle_env.graders.private_log.PrivateLog`.
        """
        self._path = code
        self._sandbox = sandbox
        self._limits = limits or Limits()
        self._requirements = requirements
        self._stated = higher_is_better
        self._details = details

    @cached_property
    def _code(self) -> bytes:
        try:
            return self._path.read_bytes()
        except OSError as error:
            raise PackError(f"The pack's metric {self._path} cannot be read: {error.strerror}.") from error

    @property
    def higher_is_better(self) -> bool:
        """The direction, stated by the pack or asked of its code.

        Raises:
            PackError: The code cannot be loaded in the sandbox.
            InfrastructureError: The sandbox could not run it.
        """
        if self._stated is not None:
            return self._stated
        digest = hashlib.sha256(self._code).digest()
        with _asking:
            if digest not in _directions:
                result = self._run(None, None)
                if isinstance(result, Scored):
                    kind = InfrastructureError if result.status.fault is Fault.INFRASTRUCTURE else PackError
                    raise kind(f"The direction of {self._path} cannot be learned. {result.message}")
                _directions[digest] = result["higher_is_better"]
            return _directions[digest]

    def accepts(self, schema: SubmissionSchema) -> None:
        """Any targets: what they mean is the pack's own affair."""

    def truth_columns(self, schema: SubmissionSchema) -> None:
        """None: the answers are given to the metric with every column that they have."""

    def problems(self, predicted: Rows, truth: Rows) -> tuple[Problem, ...]:
        """None: the pack's own check runs in the box, with its metric."""
        del predicted, truth
        return ()

    def advice(self, truth: Rows) -> str:
        """None: what the pack's own metric is for, only its author knows."""
        del truth
        return ""

    def score(
        self, truth: Rows, predicted: Rows, chosen: Sequence[int] | Array, *, cancel: CancelToken | None = None
    ) -> Scored:
        """Check all predictions and score the chosen ones, in a fresh box; ``cancel`` ends it."""
        try:
            result = self._run((truth, predicted, chosen), cancel)
        except PackError as error:
            _log.info("%s", error)  # the file cannot be read
            status, message = _FAILURES["load"]
            return Scored(status=status, message=message)
        if isinstance(result, Scored):
            return result
        if self._stated is not None and self._stated is not result["higher_is_better"]:
            _log.info("%s says higher_is_better=%s, the pack another", self._path, result["higher_is_better"])
            message = f"The task and its metric disagree on the metric's direction. {_NOT_THE_SUBMISSION}"
            return Scored(status=ResultStatus.METRIC_OR_ANSWER_MISSING, message=message)
        codes = result.get("warnings")
        warnings = tuple(text for code, text in _WARNINGS.items() if isinstance(codes, list) and code in codes)
        return Scored(status=ResultStatus.SUCCESS, score=result["score"], warnings=warnings)

    def _run(self, rows: _Question | None, cancel: CancelToken | None) -> dict[str, Any] | Scored:
        """Run the metric in a box; its result, or why there is none."""
        program = files("openmle_env.graders").joinpath("pack_metric_program.py").read_text(encoding="utf-8")
        code = self._code
        try:
            # The outer folder is closed to other users; the inner one is open to the box's own user.
            with scratch.folder() as closed:
                folder = closed / "data"
                folder.mkdir(mode=0o755)
                _write(folder, code, rows)
                job = Job(
                    program=program,
                    inputs={"/data": folder},
                    collect=(_RESULT,),
                    limits=self._limits,
                    requirements=self._requirements,
                )
                execution = self._sandbox.run(job, cancel=cancel)
        except (InfrastructureError, OSError) as error:
            # Agents read this: an error of the system's own names files of this machine.
            why = str(error) if isinstance(error, InfrastructureError) else error.strerror
            return Scored(status=ResultStatus.SANDBOX_UNCONFIRMED, message=f"The task's metric could not be run: {why}")
        if execution.status.fault is Fault.INFRASTRUCTURE:
            message = f"The task's metric could not be run: {execution.reason}"
            return Scored(status=execution.status, message=message)
        artifact = execution.artifacts.get(_RESULT)
        if execution.status is not ResultStatus.SUCCESS or artifact is None or artifact.state is not ArtifactState.OK:
            self._tell("run", execution.status.value, f"{execution.reason}\n{execution.stderr}")
            return Scored(status=ResultStatus.SCORING_FAILED, message=self._unfinished(execution.status))
        return self._parse(artifact.content, scored=rows is not None)

    def _unfinished(self, status: ResultStatus) -> str:
        """Why there is no score where the box ended the metric, in our own words: the metric's could be anything."""
        seconds, memory_mb = self._limits.wall_seconds, self._limits.memory_mb
        match status:
            case ResultStatus.TIMEOUT:
                what = f"ran longer than its {seconds:g} seconds (metric.seconds of its pack.yaml)"
            case ResultStatus.OUT_OF_MEMORY:
                what = f"needed more memory than its {memory_mb:,} MiB (metric.memory_mb of its pack.yaml)"
            case ResultStatus.SUCCESS:  # it ended the process, or put something else in the result's place
                what = "ended without a result"
            case _:
                what = f"did not finish ({status})"
        return f"The task's metric {what}. {_NOT_THE_SUBMISSION}"

    def _parse(self, content: bytes, *, scored: bool) -> dict[str, Any] | Scored:
        """The result that the program wrote, checked field by field: the pack's code ran beside it."""
        try:
            result = json.loads(content)
        except (ValueError, RecursionError):  # no JSON, no text, or a number of thousands of digits
            result = None
        stage = result.get("failed") if isinstance(result, dict) else None
        if isinstance(stage, str) and stage in _FAILURES:
            self._tell(stage, str(result.get("error")), str(result.get("trace")))
            status, message = _FAILURES[stage]
            return Scored(status=status, message=message)
        if (
            not isinstance(result, dict)
            or not isinstance(result.get("higher_is_better"), bool)
            or (scored and not (isinstance(result.get("score"), float) and math.isfinite(result["score"])))
        ):
            self._tell("result", "none that can be read", repr(content[:1000]))
            status, message = _FAILURES["evaluate"]
            return Scored(status=status, message=message)
        return result

    def _tell(self, stage: str, kind: str, text: str) -> None:
        """Log the stage and the type of the failure; what else was said goes to the private place."""
        if stage in _FAILURES and not _EXCEPTION.fullmatch(kind):
            kind = "of a type without a plain name"
        _log.info("%s failed at stage %r: %s", self._path, stage, kind)
        if self._details is not None:
            self._details(f"{self._path.name} failed at stage {stage!r}: {kind}\n{text}")


def _write(folder: Path, code: bytes, rows: _Question | None) -> None:
    request: dict[str, Any] = {"score": rows is not None}
    if rows is not None:
        truth, predicted, chosen = rows
        request["chosen"] = [int(row) for row in chosen]
        types = {truth.id.name: "int64" if truth.ids.dtype == np.int64 else "str"}
        types |= {name: _pandas_type(column) for name, column in predicted.columns.items()}
        request["prediction_types"] = types
        # Numbers of the truth stay as pandas sees them: the answers may be classes where probabilities are asked for.
        request["truth_types"] = {name: kind for name, kind in types.items() if kind != "float64"}
        _write_csv(folder / "truth.csv", truth)
        _write_csv(folder / "prediction.csv", predicted)
    (folder / "request.json").write_text(json.dumps(request), encoding="utf-8")
    (folder / "metric.py").write_bytes(code)
    for path in folder.iterdir():
        path.chmod(0o644)
    folder.chmod(0o755)


def _pandas_type(column: Column) -> str:
    """The type of a column in the metric's data frames: from the schema, so that both frames have the same."""
    match column.kind:
        case "number" | "probability":
            return "float64"
        case "integer":
            return "int64"
        case "label" if all(PLAIN_INTEGER.fullmatch(label) for label in column.labels):
            return "int64"
        case "label" if set(column.labels) == {"True", "False"}:
            return "bool"
    return "str"


def _write_csv(path: Path, rows: Rows) -> None:
    with path.open("w", encoding="utf-8", newline="") as file:
        # Everything is quoted, so that a lone carriage return inside a text cannot end its row.
        writer = csv.writer(file, quoting=csv.QUOTE_ALL, lineterminator="\n")
        writer.writerow([rows.id.name, *rows.columns])
        writer.writerows(zip(rows.ids.tolist(), *(rows.cells(name) for name in rows.columns), strict=True))
