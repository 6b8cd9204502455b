"""Whatever happens to the owner of boxes, nothing of them remains: on both backends, in every way to run."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, NoReturn

import pytest

from openmle_env.sandbox.protocol import CancelToken
from openmle_env.types import Job, Limits, ResultStatus
from tests.sandbox import boxes_driver, private_engine
from tests.sandbox.leftovers import Held, Place
from tests.sandbox.processes import wait_until

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    from openmle_env.sandbox.box import BoxSandbox
    from openmle_env.types import Warm
    from tests.sandbox.private_engine import PrivateEngine

BACKENDS = [
    pytest.param("docker", marks=pytest.mark.docker),
    pytest.param("bubblewrap", marks=pytest.mark.bubblewrap),
]
WAYS: tuple[Warm, ...] = ("single", "forked", "off")
PATIENCE = 60.0


@pytest.fixture(scope="module")
def engine(
    request: pytest.FixtureRequest,
    unavailable: Callable[[str], NoReturn],
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[PrivateEngine]:
    with private_engine.running(request, unavailable, tmp_path_factory) as own:
        yield own


@pytest.fixture(params=BACKENDS)
def backend(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def place(
    request: pytest.FixtureRequest,
    backend: str,
    tmp_path: Path,
    usable: Callable[[str], None],
    monkeypatch: pytest.MonkeyPatch,
) -> Place:
    """Where the boxes of one test are; this process works there too."""
    if backend == "bubblewrap":
        usable("bubblewrap")
        place = Place(tmp_path)
    else:
        place = Place(tmp_path, request.getfixturevalue("engine"))
        monkeypatch.setenv("DOCKER_HOST", place.environment()["DOCKER_HOST"])
    assert place.leftovers() == {}
    monkeypatch.setenv("OPENMLE_HOME", str(place.home))
    monkeypatch.setattr(tempfile, "tempdir", str(place.temporary))
    return place


@contextlib.contextmanager
def driver(place: Place, backend: str, **asked: object) -> Iterator[subprocess.Popen[str]]:
    """A process that owns boxes; ended in any case."""
    everything = {"backend": backend, "image": private_engine.IMAGE, "folder": str(place.input), "end": "wait", **asked}
    command = [sys.executable, boxes_driver.__file__, json.dumps(everything)]
    with subprocess.Popen(
        command,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env=place.environment(),
        start_new_session=True,
    ) as process:
        place.owners.append(process.pid)
        try:
            yield process
        finally:
            process.kill()


def expect(process: subprocess.Popen[str], word: str) -> None:
    assert process.stdout is not None
    assert process.stdout.readline() == f"{word}\n"


def answer(process: subprocess.Popen[str]) -> None:
    assert process.stdin is not None
    process.stdin.write("\n")
    process.stdin.flush()


def run_all(place: Place, programs: int) -> bool:
    """Whether so many hostile programs run, each with the child that it left."""
    return wait_until(
        lambda: len(place.processes("hostile")) == len(place.processes("hostile-child")) == programs, PATIENCE
    )


@pytest.mark.parametrize("way", WAYS)
def test_of_a_driver_that_is_killed(place: Place, backend: str, way: Warm) -> None:
    """With 8 programs that run, boxes that wait, and a replacement that is being made."""
    with driver(place, backend, ways=[way], programs=8, idle=True) as process:
        expect(process, "ready")
        assert run_all(place, 8), place.leftovers()
        process.kill()
        process.wait()
        assert place.nothing_left_but_unstarted() == {}


@pytest.mark.parametrize("end", ["terminated", "interrupted", "left"])
def test_of_a_driver_that_ends_without_closing(place: Place, backend: str, end: str) -> None:
    last = {"terminated": "wait", "interrupted": "main", "left": "leave"}[end]
    with driver(place, backend, ways=WAYS, programs=1, idle=True, end=last) as process:
        expect(process, "ready")
        assert run_all(place, 4 if end == "interrupted" else 3), place.leftovers()
        if end == "left":
            answer(process)
        else:
            process.send_signal(signal.SIGTERM if end == "terminated" else signal.SIGINT)
        code = process.wait(PATIENCE)
        assert code == {"terminated": -signal.SIGTERM, "interrupted": -signal.SIGINT, "left": 0}[end]
        assert place.nothing_left_but_unstarted() == {}


def test_of_a_driver_that_is_killed_while_boxes_are_made(place: Place, backend: str) -> None:
    """At ten moments of making them. What never started is removed by whoever makes the next box."""
    with contextlib.ExitStack() as stack:
        for number in range(10):
            way = WAYS[number % len(WAYS)]
            process = stack.enter_context(driver(place, backend, ways=[way], programs=1))
            expect(process, "ready")
            time.sleep(0.04 * number)
            process.kill()
    wait_until(lambda: not place.leftovers(), 2.0)
    place.collect()
    assert place.nothing_left_but_unstarted() == {}


def test_of_a_driver_that_forked_a_worker_in_mid_run(place: Place, backend: str) -> None:
    """What the driver had ends with it, though the worker lives; and what the worker has ends with the worker."""
    with driver(place, backend, ways=["off", "forked", "single"], programs=1, idle=True, fork=True) as process:
        assert run_all(place, 3), place.leftovers()
        answer(process)
        expect(process, "ready")
        assert process.stdout is not None
        worker = int(process.stdout.readline())
        place.owners.append(worker)
        assert run_all(place, 4), place.leftovers()
        process.kill()
        process.wait()
        try:
            assert wait_until(lambda: len(place.processes("hostile")) == 1, PATIENCE)
            time.sleep(1.0)
            assert len(place.processes("hostile")) == 1  # the worker's own is not disturbed
        finally:
            os.kill(worker, signal.SIGKILL)
        assert place.nothing_left_but_unstarted() == {}


def test_boxes_of_a_driver_that_hangs_end_by_their_own_clock(place: Place, backend: str) -> None:
    """Programs at their time limit, and boxes that wait after a while, though nobody tells them."""
    with driver(place, backend, ways=WAYS, programs=1, idle=True, wall_seconds=6, idle_seconds=6) as process:
        expect(process, "ready")
        assert run_all(place, 3), place.leftovers()
        process.send_signal(signal.SIGSTOP)
        assert wait_until(lambda: not place.processes("hostile") + place.processes("hostile-child"), PATIENCE)
        own = f"{process.pid} "
        assert wait_until(
            lambda: not [item for item in place.processes("python") if not item.startswith(own)], PATIENCE
        )
        process.kill()
        process.wait()
        assert place.nothing_left_but_unstarted() == {}


WRITE = "open('/output/submission.csv', 'w').write('id,y\\n1,0\\n')"
MIXED: tuple[tuple[str, ResultStatus], ...] = (
    (WRITE, ResultStatus.SUCCESS),
    ("print('nothing written')", ResultStatus.SUBMISSION_MISSING),
    ("raise ValueError('no')", ResultStatus.CODE_EXECUTION_ERROR),
    (f"{WRITE}\nimport os, time\nif not os.fork():\n    os.setsid()\n    time.sleep(600)", ResultStatus.SUCCESS),
    ("import os\nos.abort()", ResultStatus.CODE_EXECUTION_ERROR),
    ("import os\nos.mkfifo('/output/submission.csv')", ResultStatus.SUBMISSION_INVALID),
    ("# nothing", ResultStatus.CODE_MISSING),
    (f"{WRITE}\nprint('x' * 100_000)", ResultStatus.SUCCESS),
    ("open('/work/full', 'wb').write(bytes(2 << 20))", ResultStatus.CODE_EXECUTION_ERROR),
    ("import sys\nsys.exit(3)", ResultStatus.CODE_EXECUTION_ERROR),
    ("blocks = [b'x' * (8 << 20) for _ in range(99)]", ResultStatus.OUT_OF_MEMORY),
    ("while True:\n    pass", ResultStatus.TIMEOUT),
    ("import os, signal\nos.kill(-1, signal.SIGKILL)\nos._exit(4)", ResultStatus.CODE_EXECUTION_ERROR),
    (WRITE, ResultStatus.CANCELLED),
)
"""Programs and how they end; the last one is cancelled before, or in the middle of, its run."""
SMALL = Limits(memory_mb=64, wall_seconds=1, work_mb=1, output_mb=1, shm_mb=1, inodes=200, processes=16)
PROGRAMS: dict[Warm, int] = {"single": 16, "off": 16, "forked": 96}
"""All kinds of ends, several times where a program takes no box of its own."""
THREADS = 4


def run_mixed(sandbox: BoxSandbox, place: Place, numbers: Sequence[int], session: str) -> list[str]:
    """Run these programs one after the other; what went wrong, in words."""
    wrong = []
    for number in numbers:
        program, expected = MIXED[number % len(MIXED)]
        job = Job(program=program, inputs={"/data": place.input}, limits=SMALL, modules=(), session=session)
        cancel = CancelToken()
        if expected is ResultStatus.CANCELLED:
            timer = threading.Timer(number % 5 * 0.02, cancel.cancel)
            timer.start()
        execution = sandbox.run(job, cancel=cancel)
        # A cancellation may come too late for a short program, and the kernel's kill too late on a busy machine.
        slow = expected is ResultStatus.OUT_OF_MEMORY and execution.status is ResultStatus.TIMEOUT
        if execution.status is not expected and expected is not ResultStatus.CANCELLED and not slow:
            wrong.append(f"{number}: {execution}")
    if session:
        sandbox.end_session(session)
    return wrong


@pytest.mark.parametrize("way", WAYS)
def test_of_many_programs_in_a_row(place: Place, backend: str, way: Warm) -> None:
    """With every kind of end, on four threads; descriptors, threads and children are as many as before."""
    place.owners.append(os.getpid())

    def run(programs: int) -> list[str]:
        sandbox = boxes_driver.make(backend, private_engine.IMAGE, way)
        with ThreadPoolExecutor(THREADS) as pool, contextlib.closing(sandbox):
            parts = [range(first, programs, THREADS) for first in range(THREADS)]
            sessions = [f"session {first}" if way == "forked" else "" for first in range(THREADS)]
            results = pool.map(run_mixed, [sandbox] * THREADS, [place] * THREADS, parts, sessions)
            return [sentence for part in results for sentence in part]

    assert run(2 * THREADS) == []  # what a process makes once
    assert place.nothing_left() == {}
    before = Held.quiet()
    assert run(PROGRAMS[way]) == []
    assert place.nothing_left() == {}
    assert Held.settled(lambda held: held == before) == before
