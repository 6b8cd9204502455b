"""The ways to run one program that ``openmle sandbox bench`` compares."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import tempfile
import time
import uuid
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from openmle_env.commands.bench_timing import Turn, Way
from openmle_env.errors import InfrastructureError
from openmle_env.types import Job, ResultStatus

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Sequence

    from openmle_env.sandbox.protocol import Sandbox
    from openmle_env.task_registry.lookup import Task
    from openmle_env.types import Execution, Warm

TASK = "titanic"
PROGRAM = '''\
"""A forest on the table: about 0.12 s of computing on one core, after imports that take six times as long."""

import os

import pandas as pd
from sklearn.compose import ColumnTransformer
from sklearn.ensemble import RandomForestClassifier
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

train = pd.read_csv(os.path.join(os.environ["DATA_DIR"], "train.csv"))
test = pd.read_csv(os.path.join(os.environ["DATA_DIR"], "test.csv"))
for passengers in (train, test):
    passengers["Title"] = passengers["Name"].str.extract(r",\\s*([^.]+)\\.")[0]
    passengers["Party"] = passengers["SibSp"] + passengers["Parch"] + 1
numbers, words = ["Pclass", "Age", "Fare", "Party"], ["Sex", "Embarked", "Title"]
columns = ColumnTransformer(
    [
        ("numbers", SimpleImputer(strategy="median"), numbers),
        ("words", OneHotEncoder(handle_unknown="ignore", min_frequency=10), words),
    ]
)
model = make_pipeline(columns, RandomForestClassifier(n_estimators=70, max_depth=7, random_state=0))
model.fit(train[numbers + words], train["Survived"])
answers = pd.DataFrame({"PassengerId": test["PassengerId"], "Survived": model.predict(test[numbers + words])})
answers.to_csv(os.path.join(os.environ["OUTPUT_DIR"], "submission.csv"), index=False)
print(f"{model.score(train[numbers + words], train['Survived']):.4f}")
'''
"""What every way runs; it finds its folders as a program in a box does, so that the bare one is the same text."""

KINDS = {
    "bare": "python program.py, no isolation",
    "fresh": "a box made for it",
    "single": "a warm box, used once",
    "forked": "a process forked in a warm box",
    "step": "a recorded step of the environment",
}
"""The kinds of ways, and what each of them is."""
WARM: tuple[Warm, ...] = ("single", "forked")
SETTLE_SECONDS = 60.0
"""How long boxes of an earlier turn may be made and given up before the next turn, in seconds."""
THREADS = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "MKL_NUM_THREADS": "1", "NUMEXPR_NUM_THREADS": "1"}
"""What a box of one CPU tells numeric libraries, told to the others too."""


@contextlib.contextmanager
def open_ways(task: Task, backends: Sequence[str], kinds: Collection[str]) -> Iterator[list[Way]]:
    """The ways of these kinds, on each backend; their boxes are given back at the end.

    Raises:
        SandboxUnavailableError: A backend does not work on this machine.
    """
    from openmle_env.sandbox import select  # reaches for engines

    ways: list[Way] = []
    with contextlib.ExitStack() as stack:
        runs = Path(stack.enter_context(tempfile.TemporaryDirectory()))

        def sandbox(backend: str, warm: Warm) -> Sandbox:
            made = select.create(backend, warm=warm)
            stack.callback(made.close)
            return made

        if "bare" in kinds:
            ways.append(Way(kind="bare", title=KINDS["bare"], turn=_bare(task), lasting=True))
        for backend in backends:
            boxes: list[tuple[str, Warm]] = [("fresh", "off"), *((warm, warm) for warm in WARM)]
            for kind, warm in boxes:
                if kind in kinds:
                    ways.append(_boxed(kind, sandbox(backend, warm), job(task)))
            if "step" in kinds:
                ways.extend(_stepped(warm, sandbox(backend, warm), runs) for warm in WARM)
        yield ways


def job(task: Task, session: str = "") -> Job:
    """The program as the environment would run it."""
    spec = task.spec
    inputs = {"/data": task.public}
    return Job(program=PROGRAM, inputs=inputs, limits=spec.limits, modules=spec.warm, session=session)


def checked(execution: Execution, way: str) -> Execution:
    """The execution.

    Raises:
        InfrastructureError: The program failed: its time would say nothing.
    """
    if execution.status is not ResultStatus.SUCCESS:
        said = f"{execution.reason} {execution.stderr[-500:]}".strip()
        raise InfrastructureError(f"The program of the measurement did not succeed in {way}: {said}")
    return execution


def _settle() -> None:
    from openmle_env.sandbox import pool

    pool.settle(SETTLE_SECONDS)


def _bare(task: Task) -> Callable[[int], Turn]:
    def turn(_worker: int) -> Turn:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, "program.py")
            path.write_text(PROGRAM, encoding="utf-8")
            environment = {**os.environ, **THREADS, "DATA_DIR": str(task.public), "OUTPUT_DIR": folder}
            began = time.perf_counter()
            done = subprocess.run([sys.executable, str(path)], check=False, capture_output=True, env=environment)
            seconds = time.perf_counter() - began
        if done.returncode != 0:
            said = done.stderr.decode(errors="replace")[-500:]
            raise InfrastructureError(f"The program of the measurement did not succeed by itself: {said}")
        return Turn(seconds=seconds)

    return turn


def _boxed(kind: str, sandbox: Sandbox, job: Job) -> Way:
    sessions: dict[int, str] = {}

    def turn(worker: int) -> Turn:
        session = sessions.setdefault(worker, uuid.uuid4().hex)
        began = time.perf_counter()
        execution = sandbox.run(replace(job, session=session, modules=job.modules if kind != "fresh" else None))
        seconds = time.perf_counter() - began
        return Turn(seconds=seconds, compute=checked(execution, f"{sandbox.name}, {KINDS[kind]}").wall_seconds)

    return Way(
        kind=kind,
        title=f"{sandbox.name}, {KINDS[kind]}",
        turn=turn,
        settle=_settle,
        backend=sandbox.name,
        lasting=kind != "fresh",
    )


def _stepped(warm: Warm, sandbox: Sandbox, runs: Path) -> Way:
    """Steps of episodes that are as long as the task's own; each bears what the reset of its episode took."""
    from openmle_env.envs.recording import EpisodeRecorder
    from openmle_env.envs.task_env import TaskEnv

    env = EpisodeRecorder(TaskEnv(TASK, sandbox=sandbox), runs=runs)
    env.reset()  # looks up the task, once
    title = f"{sandbox.name}, {KINDS['step']}, {warm}"

    def reset() -> float:
        began = time.perf_counter()
        env.reset()
        return time.perf_counter() - began

    took = reset()

    def turn(_worker: int) -> Turn:
        nonlocal took
        began = time.perf_counter()
        *_, terminated, truncated, info = env.step(PROGRAM)
        seconds = time.perf_counter() - began
        outcome = info["outcome"]
        if outcome.score is None:
            raise InfrastructureError(f"The program of the measurement has no score in {title}: {outcome.feedback}")
        done = Turn(seconds=seconds, compute=outcome.execution.wall_seconds, reset=took)
        if terminated or truncated:
            took = reset()
        return done

    return Way(kind=f"step-{warm}", title=title, turn=turn, settle=_settle, backend=sandbox.name)
