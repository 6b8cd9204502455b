"""Times one program in our boxes against other ways to run it, in turn, in one run of this script.

.venv/bin/python scripts/bench_sandbox.py [--rounds N] [--seconds S] [--ways A,B] [--sandbox NAME] [--json]

The floor is `bare`: `python program.py` by the same interpreter, with no isolation at all. Ours are those of
`openmle sandbox bench`: a box made for the program (`fresh`), a warm box (`single`), a process forked in a warm box
(`forked`), and a whole recorded step of the environment (`step`). The others use the same image, the same data
folder, mounted read-only, one thread, no network, and no limits that would cost them anything:

    container   a new container for each program by the engine's own library: create, start, wait, remove; the
                program and what it writes lie in a mounted folder
    exec        one container that lives on; each program is one `exec` by the engine's own library
    inspect     as Inspect's Docker sandbox does: one container that lives on, and for each program three calls of the
                engine's command line, which write the program, run it, and read what it wrote (Inspect calls
                `docker compose exec`, which takes longer than the `docker exec` that is called here)

Only ratios of one run say anything: machines are noisy. `memory` is what a box that waits takes.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from openmle_env.commands.bench_timing import Turn, Way
from openmle_env.commands.bench_ways import PROGRAM, THREADS
from openmle_env.commands.console import progress
from openmle_env.commands.sandbox_bench import chosen, measure, show, usable
from openmle_env.errors import OpenMLEError
from openmle_env.sandbox.layout import PYTHON

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Sequence

    from docker import DockerClient

    from openmle_env.task_registry.lookup import Task

PEERS = {
    "container": "a new container, plain engine",
    "exec": "exec in a container that lives on",
    "inspect": "three calls of the engine's command line",
}
FOLDERS = {"DATA_DIR": "/data", "OUTPUT_DIR": "/output"}


def main(arguments: list[str]) -> int:
    """Print the tables, or one JSON document."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=10, help="turns of each way (default: 10)")
    parser.add_argument("--seconds", type=float, default=30.0, help="how long each rate is measured (default: 30)")
    parser.add_argument("--ways", default="", help=f"those to compare, with commas; also {', '.join(PEERS)}")
    parser.add_argument("--sandbox", default="", help="docker or bubblewrap (default: all that work here)")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args(arguments)
    try:
        kinds = chosen(options.ways, tuple(PEERS))
        backends = usable(options.sandbox)
        peers = _opener(kinds) if "docker" in backends else None
        with progress("measuring") as report:
            found = measure(backends, kinds, rounds=options.rounds, seconds=options.seconds, report=report, peers=peers)
    except OpenMLEError as error:
        sys.stderr.write(f"{error}\n")
        return 2
    if options.json:
        print(json.dumps(found.document(), indent=2))
    else:
        show(found, _markdown)
    return 0


def _markdown(title: str, heads: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    print(f"{title}\n\n| {' | '.join(heads)} |\n|---|{'---:|' * (len(heads) - 1)}")
    for row in rows:
        print(f"| {' | '.join(row)} |")
    print()


def _opener(kinds: Collection[str]) -> Callable[[Task], contextlib.AbstractContextManager[list[Way]]]:
    return lambda task: _peers(task, kinds)


@contextlib.contextmanager
def _peers(task: Task, kinds: Collection[str]) -> Iterator[list[Way]]:
    """The other ways; their containers are removed at the end."""
    from openmle_env.sandbox import engine, image

    turns = {"container": _container, "exec": _exec, "inspect": _inspect}
    with contextlib.ExitStack() as stack:
        client = stack.enter_context(engine.connect())
        name = image.chosen(None)
        yield [
            Way(kind=kind, title=PEERS[kind], turn=stack.enter_context(turns[kind](client, name, task)), lasting=True)
            for kind in PEERS
            if kind in kinds
        ]


def _options(task: Task, output: str) -> dict[str, Any]:
    from openmle_env.sandbox import reaper

    return {
        "network_mode": "none",
        "labels": reaper.labels(24 * 3600.0),  # what a killed run of this script leaves is removed by the next sandbox
        "environment": {**THREADS, **FOLDERS},
        "volumes": {str(task.public): {"bind": "/data", "mode": "ro"}, output: {"bind": "/output", "mode": "rw"}},
    }


def _open_folder() -> tempfile.TemporaryDirectory[str]:
    """A folder that the container's user may write to."""
    folder = tempfile.TemporaryDirectory()
    Path(folder.name).chmod(0o777)
    return folder


def _check(code: int, said: bytes, kind: str) -> None:
    if code:
        raise SystemExit(f"The program failed in {PEERS[kind]}: {said.decode(errors='replace')[-500:]}")


@contextlib.contextmanager
def _container(_client: DockerClient, image: str, task: Task) -> Iterator[Callable[[int], Turn]]:
    from openmle_env.sandbox import engine

    def turn(_worker: int) -> Turn:
        with engine.connect() as client, _open_folder() as output:  # a client is not shared between threads
            Path(output, "program.py").write_text(PROGRAM, encoding="utf-8")
            began = time.perf_counter()
            made = client.containers.create(image, [PYTHON, "/output/program.py"], **_options(task, output))
            try:
                made.start()
                code = made.wait()["StatusCode"]
                _check(code, made.logs() if code else b"", "container")
                Path(output, "submission.csv").read_bytes()
            finally:
                made.remove(force=True)
            return Turn(seconds=time.perf_counter() - began)

    yield turn


@contextlib.contextmanager
def _living(client: DockerClient, image: str, task: Task) -> Iterator[tuple[str, str]]:
    """A container that does nothing until it is removed, and the folder that is mounted in it."""
    with _open_folder() as output:
        made = client.containers.run(image, ["sleep", "86400"], detach=True, init=True, **_options(task, output))
        try:
            yield str(made.id), output
        finally:
            made.remove(force=True)


@contextlib.contextmanager
def _exec(client: DockerClient, image: str, task: Task) -> Iterator[Callable[[int], Turn]]:
    from openmle_env.sandbox import engine

    with _living(client, image, task) as (identity, output):

        def turn(worker: int) -> Turn:
            folder = Path(output, str(worker))
            folder.mkdir(exist_ok=True)
            folder.chmod(0o777)
            folder.joinpath("program.py").write_text(PROGRAM, encoding="utf-8")
            command = [PYTHON, f"/output/{worker}/program.py"]
            with engine.connect() as mine:
                began = time.perf_counter()
                call = mine.api.exec_create(identity, command, environment={"OUTPUT_DIR": f"/output/{worker}"})["Id"]
                said = mine.api.exec_start(call)
                _check(mine.api.exec_inspect(call)["ExitCode"], said, "exec")
                folder.joinpath("submission.csv").read_bytes()
                return Turn(seconds=time.perf_counter() - began)

        yield turn


@contextlib.contextmanager
def _inspect(client: DockerClient, image: str, task: Task) -> Iterator[Callable[[int], Turn]]:
    with _living(client, image, task) as (identity, _output):

        def call(*command: str, stdin: str | None = None, output: str = "/output") -> str:
            line = ["docker", "exec", "--env", f"OUTPUT_DIR={output}", *(["-i"] if stdin else []), identity, *command]
            done = subprocess.run(line, input=stdin, capture_output=True, text=True, check=False)
            _check(done.returncode, done.stderr.encode(), "inspect")
            return done.stdout

        def turn(worker: int) -> Turn:
            folder = f"/output/w{worker}"
            began = time.perf_counter()
            call("sh", "-c", f"mkdir -p {folder} && cat > {folder}/program.py", stdin=PROGRAM)
            call(PYTHON, f"{folder}/program.py", output=folder)
            call("cat", f"{folder}/submission.csv")
            return Turn(seconds=time.perf_counter() - began)

        yield turn


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
