"""Times one program in a fresh box against the same program run by hand, in turn, in one run of this script.

.venv/bin/python scripts/bench_sandbox.py [--rounds N]    default: 10

The floor is `python program.py` with the same interpreter and data. A step adds grading, the observation and the record
of the episode to a box; a box adds isolation to the floor. Only ratios of one run say anything: machines are noisy.
"""

from __future__ import annotations

import argparse
import functools
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

from openmle_env import load_task
from openmle_env.envs.recording import EpisodeRecorder
from openmle_env.envs.task_env import TaskEnv
from openmle_env.sandbox import select
from openmle_env.types import Job

if TYPE_CHECKING:
    from collections.abc import Callable

    from openmle_env.sandbox.protocol import Sandbox
    from openmle_env.task_registry.task import Task

REFERENCE = "hist-gradient-boosting"


def main(arguments: list[str]) -> int:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=10)
    rounds = parser.parse_args(arguments).rounds
    task = load_task("titanic")
    program = next(
        task.pack.text(reference.program) for reference in task.pack.config.references if reference.name == REFERENCE
    )
    ways: dict[str, Callable[[], None]] = {"bare python": functools.partial(_bare, task, program)}
    boxes = [select.create(report.name) for report in select.survey() if report.usable]
    with tempfile.TemporaryDirectory() as runs:
        for box in boxes:
            ways[f"{box.name}, a fresh box"] = functools.partial(_box, box, task, program)
            ways[f"{box.name}, a whole recorded step"] = _stepper(box, program, Path(runs), rounds)
        seconds: dict[str, list[float]] = {name: [] for name in ways}
        for _ in range(rounds + 1):  # the first round only warms caches
            for name, way in ways.items():
                began = time.perf_counter()
                way()
                seconds[name].append(time.perf_counter() - began)
    for box in boxes:
        box.close()
    floor = statistics.median(seconds["bare python"][1:])
    print(f"| way | median of {rounds}, s | ratio to bare python |\n|---|---:|---:|")
    for name, taken in seconds.items():
        median = statistics.median(taken[1:])
        print(f"| {name} | {median:.3f} | {median / floor:.2f} |")
    return 0


def _bare(task: Task, program: str) -> None:
    with tempfile.TemporaryDirectory() as output:
        environment = {**os.environ, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}
        text = program.replace('"/data', f'"{task.public}').replace('"/output', f'"{output}')
        path = Path(output) / "program.py"
        path.write_text(text, encoding="utf-8")
        subprocess.run([sys.executable, str(path)], check=True, capture_output=True, env=environment)


def _box(box: Sandbox, task: Task, program: str) -> None:
    execution = box.run(Job(program=program, inputs={"/data": task.public}, limits=task.spec.limits))
    if execution.exit_code != 0:
        raise SystemExit(f"The program failed in {box.name}: {execution.reason}")


def _stepper(box: Sandbox, program: str, runs: Path, rounds: int) -> Callable[[], None]:
    env = EpisodeRecorder(TaskEnv("titanic", sandbox=box, programs=rounds + 2), runs=runs)
    env.reset()

    def step() -> None:
        *_, info = env.step(program)
        if info["outcome"].score is None:
            raise SystemExit(f"The program has no score in {box.name}: {info['outcome'].execution.reason}")

    return step


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
