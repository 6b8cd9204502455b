"""An engine that ends, comes back or has no space left is the machine's fault, and the same sandbox goes on after it.

On an engine of the tests' own, that nobody else uses.
"""

from __future__ import annotations

import contextlib
import tempfile
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TYPE_CHECKING, NoReturn

import pytest

from openmle_env import scratch
from openmle_env.errors import SandboxUnavailableError
from openmle_env.sandbox import arguments
from openmle_env.sandbox import engine as shared_engine
from openmle_env.sandbox.docker import DockerSandbox
from openmle_env.types import Execution, Fault, ResultStatus
from tests.sandbox import private_engine
from tests.sandbox.boxes_driver import HOSTILE, job, run_until_warm
from tests.sandbox.leftovers import Held, Place, full_disk
from tests.sandbox.processes import wait_until

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from openmle_env.sandbox.box import BoxSandbox
    from openmle_env.sandbox.bubblewrap import BubblewrapSandbox
    from openmle_env.types import Warm
    from tests.sandbox.private_engine import PrivateEngine

pytestmark = pytest.mark.filterwarnings(
    # docker-py leaves its socket to the garbage collector where the engine goes before it has told its version.
    "ignore:Exception ignored in. <socket.socket:pytest.PytestUnraisableExceptionWarning"
)
PATIENCE = 60.0


@pytest.fixture(scope="module")
def own_engine(
    request: pytest.FixtureRequest,
    unavailable: Callable[[str], NoReturn],
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[PrivateEngine]:
    with private_engine.running(request, unavailable, tmp_path_factory) as own:
        yield own


@pytest.fixture
def engine(own_engine: PrivateEngine) -> Iterator[PrivateEngine]:
    yield own_engine
    if not own_engine.answers():
        own_engine.start()
    if own_engine.leftovers():  # the test failed
        own_engine.clear()


@pytest.fixture
def place(engine: PrivateEngine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Place:
    place = Place(tmp_path, engine)
    assert place.leftovers() == {}
    monkeypatch.setenv("DOCKER_HOST", engine.address)
    monkeypatch.setenv("OPENMLE_HOME", str(place.home))
    monkeypatch.setattr(tempfile, "tempdir", str(place.temporary))
    return place


@contextlib.contextmanager
def sandbox_of(way: Warm) -> Iterator[DockerSandbox]:
    with contextlib.closing(DockerSandbox(private_engine.IMAGE, warm=way)) as sandbox:
        yield sandbox


def session(way: Warm) -> str:
    return "first" if way == "forked" else ""


def works(sandbox: BoxSandbox, place: Place, times: int = 1) -> bool:
    """Whether programs run; an error of the machine is one."""
    results = [sandbox.run(job("print(1)", str(place.input), session(sandbox.warm))) for _ in range(times)]
    return [result.stdout for result in results] == ["1\n"] * times


def is_the_machines_fault(running: Future[Execution]) -> bool:
    """Whether a run ended in one of the two ways that are nobody's failure but the machine's."""
    try:
        result = running.result(PATIENCE)
    except SandboxUnavailableError:
        return True
    return result.status is ResultStatus.SANDBOX_UNCONFIRMED and result.status.fault is Fault.INFRASTRUCTURE


@pytest.mark.docker
@pytest.mark.parametrize(
    ("accident", "way"),
    [("stopped", "single"), ("killed", "single"), ("killed", "forked"), ("restarted", "off"), ("restarted", "forked")],
)
def test_in_the_middle_of_a_run(engine: PrivateEngine, place: Place, accident: str, way: Warm) -> None:
    with sandbox_of(way) as sandbox, ThreadPoolExecutor(1) as pool:
        running = pool.submit(sandbox.run, job(HOSTILE, str(place.input), session(way)))
        assert wait_until(lambda: len(place.processes("hostile-child")) == 1, PATIENCE)
        # An engine that is killed while it starts a container forgets it: only its own tools could find that again.
        assert wait_until(lambda: engine.settled(2 if way == "single" else 1), PATIENCE), engine.containers()
        (engine.kill if accident == "killed" else engine.stop)()
        if accident == "restarted":
            engine.start()
        assert is_the_machines_fault(running), running.result()
        if accident != "restarted":
            with pytest.raises(SandboxUnavailableError, match="No Docker engine answers"):
                works(sandbox, place)
            engine.start()
        assert works(sandbox, place, 2)
    assert place.nothing_left() == {}


@pytest.mark.docker
@pytest.mark.parametrize(("accident", "way"), [("stopped", "single"), ("killed", "forked")])
def test_while_boxes_wait(engine: PrivateEngine, place: Place, accident: str, way: Warm) -> None:
    """None of those that ended with the engine is handed out."""
    with sandbox_of(way) as sandbox:
        run_until_warm(sandbox, str(place.input))
        assert wait_until(lambda: engine.settled(1), PATIENCE), engine.containers()
        (engine.kill if accident == "killed" else engine.stop)()
        with pytest.raises(SandboxUnavailableError, match="No Docker engine answers"):
            works(sandbox, place)
        engine.start()
        assert works(sandbox, place, 3)
        run_until_warm(sandbox, str(place.input))
        engine.stop()
        engine.start()
        assert works(sandbox, place, 3)  # though nobody saw that it was away
    assert place.nothing_left() == {}


@pytest.mark.docker
@pytest.mark.parametrize("way", ["single", "forked"])
def test_warming_up_without_an_engine_is_no_error(engine: PrivateEngine, place: Place, way: Warm) -> None:
    with sandbox_of(way) as sandbox:
        assert works(sandbox, place)
    before = Held.quiet()
    engine.stop()
    with sandbox_of(way) as sandbox:
        for _ in range(5):
            sandbox.warm_up(job("print(1)", str(place.input), session(way)))
        with pytest.raises(SandboxUnavailableError, match="No Docker engine answers"):
            works(sandbox, place)
        sandbox.end_session(session(way))
        engine.start()
        assert works(sandbox, place)
    assert Held.settled(lambda held: held == before) == before
    assert place.nothing_left() == {}


@pytest.mark.docker
@pytest.mark.parametrize("way", ["single", "forked"])
def test_closing_while_the_engine_answers_nobody(
    engine: PrivateEngine, place: Place, way: Warm, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It does not wait for the engine, which ends the boxes when it comes to itself."""
    monkeypatch.setattr(shared_engine, "GREET_SECONDS", 3)
    with sandbox_of(way) as sandbox, ThreadPoolExecutor(1) as pool:
        run_until_warm(sandbox, str(place.input))
        running = pool.submit(sandbox.run, job(HOSTILE, str(place.input), "second" if way == "forked" else ""))
        assert wait_until(lambda: len(place.processes("hostile-child")) == 1, PATIENCE)
        with engine.frozen():
            sandbox.close()
            assert place.processes("hostile")
            assert running.result(PATIENCE).status is ResultStatus.CANCELLED
    assert place.nothing_left() == {}


@pytest.mark.docker
@pytest.mark.parametrize("way", ["single", "forked"])
def test_no_space_in_the_engines_storage(engine: PrivateEngine, place: Place, way: Warm) -> None:
    """What runs or waits goes on; what needs a new box says why there is none, and nothing half-made stays."""
    with sandbox_of(way) as sandbox, ThreadPoolExecutor(1) as pool:
        run_until_warm(sandbox, str(place.input))
        program = "import os, time\nwhile not os.path.exists('/data/go'):\n    time.sleep(0.05)\nprint(1)"
        running = pool.submit(sandbox.run, job(program, str(place.input), "second" if way == "forked" else ""))
        assert wait_until(lambda: bool(place.processes("python")), PATIENCE)
        with engine.full() as fill:
            (place.input / "go").touch()
            assert running.result(PATIENCE).stdout == "1\n"
            failures = []
            for number in range(4):  # at the latest when all that waited were used
                fill()
                failures.append(failure_of(sandbox, place, f"session {number}"))
            assert "no space left" in failures[-1], failures
        assert works(sandbox, place, 3)
    assert place.nothing_left() == {}


def failure_of(sandbox: BoxSandbox, place: Place, session: str) -> str:
    try:
        result = sandbox.run(job("print(1)", str(place.input), session if sandbox.warm == "forked" else ""))
    except SandboxUnavailableError as error:
        return str(error)
    assert result.stdout == "1\n", result
    return ""


@pytest.fixture
def full(tmp_path: Path, unavailable: Callable[[str], NoReturn]) -> Iterator[Path]:
    with full_disk(tmp_path / "full", unavailable) as folder:
        yield folder


def test_no_space_for_what_a_metric_is_given(full: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever of it was written is gone."""
    monkeypatch.setenv("OPENMLE_HOME", str(full))
    with pytest.raises(OSError, match="No space left"), scratch.folder() as folder:
        (folder / "truth.csv").write_bytes(b"id,y\n1,0\n")
    assert list((full / scratch.NAME).iterdir()) == []


@pytest.mark.bubblewrap
def test_a_full_folder_for_temporary_files_keeps_no_box_from_starting(
    full: Path, bubblewrap: BubblewrapSandbox, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "place").mkdir()
    place = Place(tmp_path / "place")
    arguments._files.cache_clear()
    monkeypatch.setattr(tempfile, "tempdir", str(full))
    assert works(bubblewrap, place)
    assert [path.name for path in full.iterdir()] == ["ballast"]
