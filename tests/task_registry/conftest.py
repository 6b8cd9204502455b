"""A stand-in box, which really runs the job's program in a process of its own without isolation, and packs to try."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import threading
from typing import TYPE_CHECKING

import pytest

from openmle_env.sandbox.protocol import Confinement
from openmle_env.task_registry.folder import open_pack
from openmle_env.types import Artifact, ArtifactState, Execution, Job, ResultStatus

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from openmle_env.sandbox.protocol import CancelToken
    from openmle_env.task_registry.folder import Pack


class PlainProcess:
    """For our own programs only: paths inside the box are rewritten to real ones."""

    name = "process"

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.jobs: list[Job] = []
        self.closed = False
        self._lock = threading.Lock()

    def confinement(self) -> Confinement:
        return Confinement(memory="none", cpu=False, inodes=False, network=False)

    def run(self, job: Job, *, cancel: CancelToken | None = None) -> Execution:
        with self._lock:
            self.jobs.append(job)
            output = self.folder / f"output{len(self.jobs)}"
        output.mkdir(parents=True)
        paths = {inside: str(source) for inside, source in job.inputs.items()} | {"/output": str(output)}
        pattern = "|".join(re.escape(inside) for inside in sorted(paths, key=len, reverse=True))
        environment = {name: paths[inside] for name, inside in _FOLDERS.items() if inside in paths}
        try:
            done = subprocess.run(
                [sys.executable, "-B", "-"],
                input=re.sub(pattern, lambda match: paths[match[0]], job.program).encode(),
                env={"PATH": os.environ["PATH"], "OMP_NUM_THREADS": "1", **environment},
                cwd=output,
                capture_output=True,
                check=False,
                timeout=job.limits.wall_seconds,
            )
        except subprocess.TimeoutExpired:
            return Execution(status=ResultStatus.TIMEOUT, reason=f"It ran longer than {job.limits.wall_seconds:g} s.")
        success = done.returncode == 0
        return Execution(
            status=ResultStatus.SUCCESS if success else ResultStatus.CODE_EXECUTION_ERROR,
            reason="" if success else f"It ended with exit code {done.returncode}.",
            exit_code=done.returncode,
            stdout=done.stdout.decode(),
            stderr=done.stderr.decode(),
            artifacts={artifact.name: artifact for name in job.collect for artifact in _collect(output, name)},
        )

    async def arun(self, job: Job, *, cancel: CancelToken | None = None) -> Execution:
        return self.run(job, cancel=cancel)

    def close(self) -> None:
        self.closed = True


_FOLDERS = {"DATA_DIR": "/data", "OUTPUT_DIR": "/output"}


def _collect(output: Path, name: str) -> list[Artifact]:
    if not name.endswith("/"):
        path = output / name
        return [Artifact(name=name, state=ArtifactState.OK, content=path.read_bytes())] if path.is_file() else []
    if (output / name.rstrip("/")).is_symlink():
        return [Artifact(name=name, state=ArtifactState.NOT_A_FILE, detail="a symbolic link")]
    found = []
    for path in sorted((output / name).rglob("*")):
        inside = path.relative_to(output).as_posix()
        if path.is_symlink():
            found.append(Artifact(name=inside, state=ArtifactState.NOT_A_FILE, detail="a symbolic link"))
        elif path.is_file():
            found.append(Artifact(name=inside, state=ArtifactState.OK, content=path.read_bytes()))
    return found


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cache of its own for each test."""
    monkeypatch.setenv("OPENMLE_HOME", str(tmp_path / "home"))
    return tmp_path / "home"


@pytest.fixture
def box(tmp_path: Path, home: Path) -> PlainProcess:
    return PlainProcess(tmp_path / "box")


METRIC = """\
class PetsMetrics:
    higher_is_better = True

    def evaluate(self, y_true, y_pred):
        return float((y_true["kind"] == y_pred["kind"]).mean())

    def validate_submission(self, submission, ground_truth):
        return "valid"
"""

PREPARE = """\
def prepare(raw, public, private):
    rows = (raw / "pets.csv").read_text().splitlines()[1:]
    (public / "train.csv").write_text("id,weight,kind\\n" + "\\n".join(rows[:4]) + "\\n")
    (public / "test.csv").write_text("id,weight\\n" + "\\n".join(row.rpartition(",")[0] for row in rows[4:]) + "\\n")
    (public / "sample_submission.csv").write_text(
        "id,kind\\n" + "".join(row.split(",")[0] + ",cat\\n" for row in rows[4:])
    )
    (private / "test_answer.csv").write_text(
        "id,kind\\n" + "".join(row.split(",")[0] + "," + row.split(",")[2] + "\\n" for row in rows[4:])
    )
"""

PETS = "id,weight,kind\n" + "".join(f"p{n},{n % 7},{'dog' if n % 3 else 'cat'}\n" for n in range(1, 17))

FINISHED = {
    "data/public/description.txt": "Tell cats from dogs.",
    "data/public/train.csv": "id,weight,kind\n1,3,cat\n2,9,dog\n",
    "data/public/test.csv": "id,weight\n" + "".join(f"{n},{n}\n" for n in range(3, 11)),
    "data/public/sample_submission.csv": "id,kind\n" + "".join(f"{n},cat\n" for n in range(3, 11)),
    "data/private/test_answer.csv": "id,kind\n" + "".join(f"{n},{'cat' if n % 3 else 'dog'}\n" for n in range(3, 11)),
    "utils/metric.py": METRIC,
}
"""A plain OpenMLE folder with its data."""

UNFINISHED = {
    "pack.yaml": 'title: Pets\nmetric: {name: accuracy}\ndescription: about.md\nversion: "3"\n',
    "about.md": "Tell cats from dogs.",
    "raw/pets.csv": PETS,
    "utils/prepare.py": PREPARE,
}
"""A pack whose data a script makes."""


@pytest.fixture
def write_pack(tmp_path: Path) -> Callable[..., Path]:
    """Writes the files of a pack, without those that are given as None, and returns its folder."""

    def write(contents: dict[str, str], changes: dict[str, str | None] | None = None, name: str = "pets") -> Path:
        root = tmp_path / "packs" / name
        for path, text in {**contents, **(changes or {})}.items():
            if text is not None:
                (root / path).parent.mkdir(parents=True, exist_ok=True)
                (root / path).write_text(text)
        return root

    return write


@pytest.fixture
def make_pack(write_pack: Callable[..., Path]) -> Callable[..., Pack]:
    return lambda *arguments, **options: open_pack(write_pack(*arguments, **options))


@pytest.fixture
def finished() -> dict[str, str]:
    return dict(FINISHED)


@pytest.fixture
def unfinished() -> dict[str, str]:
    return dict(UNFINISHED)
