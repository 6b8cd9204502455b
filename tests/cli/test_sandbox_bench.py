"""`openmle sandbox bench`: what it measures, what it holds that to, and what it refuses."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from openmle_env.commands import bench_memory, bench_report, bench_timing, bench_ways, sandbox_bench
from openmle_env.commands.bench_memory import Memory
from openmle_env.commands.bench_report import Target
from openmle_env.commands.bench_timing import Rate, Turn, Way
from openmle_env.sandbox import select
from openmle_env.sandbox.select import BackendReport
from openmle_env.task_registry.lookup import load_task
from tests.cli.standin import RIGHT, program

SCRIPT = Path(__file__).resolve().parents[2] / "scripts" / "bench_sandbox.py"
WAYS = ["bare", "fresh", "single", "forked", "step-single", "step-forked"]


@pytest.fixture
def odd(pack: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A task that is ready without running anything."""
    monkeypatch.setattr(bench_ways, "TASK", str(pack))


@pytest.fixture
def short(odd: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """A program that takes no time: the scripted sandbox says what it is told, and by hand it really runs."""
    text = (
        program(RIGHT, sleep=0.02, wall_seconds=0.015) + "import os; os.environ['DATA_DIR'], os.environ['OUTPUT_DIR']"
    )
    monkeypatch.setattr(bench_ways, "PROGRAM", text)


def way(kind: str, seconds: float = 0.0, backend: str = "") -> Way:
    def turn(_worker: int) -> Turn:
        time.sleep(seconds)
        return Turn(seconds=seconds, compute=seconds / 2)

    return Way(kind=kind, title=f"{backend} {kind}", turn=turn, backend=backend)


def test_every_way_is_measured_and_the_targets_are_beside(openmle, box, short) -> None:
    options = ("--sandbox", "docker", "--rounds", 2, "--seconds", 0.3, "--ways", ",".join(bench_ways.KINDS))
    result = openmle("sandbox", "bench", *options, "--json")
    assert result.code == 0, result.stderr
    document = json.loads(result.stdout)
    found = {figure["kind"]: figure for figure in document["figures"]}
    assert [*found] == WAYS
    assert found["bare"]["ratio"] == 1.0
    assert found["bare"]["compute"] is None
    for kind in WAYS[1:]:
        assert found[kind]["compute"] == 0.015
        assert found[kind]["overhead"] >= 0.005
        assert found[kind]["ratio"] == found[kind]["seconds"] / found["bare"]["seconds"]
    assert {kind for kind in WAYS if found[kind]["per_minute"]} == {"bare", "single", "forked"}
    assert found["forked"]["rate_share"] < 1
    names = [target["name"] for target in document["targets"]]
    assert len(names) == len(set(names)) == 7
    assert document["idle"] == {}


def test_ways_can_be_chosen_and_are_shown_as_tables(openmle, box, short) -> None:
    result = openmle("sandbox", "bench", "--sandbox", "docker", "--rounds", 1, "--seconds", 0, "--ways", "single, step")
    assert result.code == 0, result.stderr
    for word in ("Medians of 1", "a warm box, used once", "a recorded step", "Targets", "at most 25"):
        assert word in result.stdout
    assert "python program.py" not in result.stdout
    assert "per minute, as a ratio" not in result.stdout


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--ways", "bare,singel"), "Did you mean 'single'?"),
        (("--sandbox", "scripted"), "scripted"),
        (("--sandbox", "dokcer"), "Did you mean 'docker'?"),
        (("--rounds", "0"), "--rounds"),
        (("--seconds", "-1"), "--seconds"),
    ],
)
def test_wrong_use_is_told_before_anything_runs(openmle, arguments, said: str) -> None:
    result = openmle("sandbox", "bench", *arguments)
    assert (result.code, result.stdout) == (2, "")
    assert said in result.stderr


def test_a_program_that_fails_is_not_timed(openmle, box, odd, monkeypatch) -> None:
    monkeypatch.setattr(bench_ways, "PROGRAM", program(status="timeout", reason="It hung."))
    result = openmle("sandbox", "bench", "--sandbox", "docker", "--ways", "single")
    assert result.code == 3
    assert "It hung." in result.stderr


def test_a_program_that_fails_by_hand_is_not_timed(openmle, odd, monkeypatch) -> None:
    monkeypatch.setattr(bench_ways, "PROGRAM", "raise SystemExit('no such library')")
    result = openmle("sandbox", "bench", "--sandbox", "docker", "--ways", "bare")
    assert result.code == 3
    assert "no such library" in result.stderr


def test_without_a_sandbox_it_says_what_is_missing(openmle, monkeypatch) -> None:
    lacking = [BackendReport(name="docker", usable=False, reason="No engine answers.", remedy="Start it.")]
    monkeypatch.setattr(select, "survey", lambda: lacking)
    result = openmle("sandbox", "bench")
    assert result.code == 3
    assert "No engine answers. Start it." in result.stderr


def test_a_backend_that_does_not_work_is_named(capsys, monkeypatch) -> None:
    lacking = BackendReport(name="docker", usable=False, reason="No engine answers.", remedy="Start it.")
    works = BackendReport(name="bubblewrap", usable=True, reason="A box starts.")
    monkeypatch.setattr(select, "survey", lambda: [lacking, works])
    assert sandbox_bench.usable("") == ["bubblewrap"]
    assert "Not measured: docker. No engine answers. Start it." in capsys.readouterr().err


def test_figures_are_medians_and_ratios_to_bare() -> None:
    ways = [way("bare"), way("forked", backend="docker"), way("step-forked", backend="docker")]
    turns = {
        "bare": [Turn(seconds=seconds) for seconds in (1.0, 2.0, 9.0)],
        "docker:forked": [Turn(seconds=seconds, compute=0.1) for seconds in (0.11, 0.2, 0.3)],
        "docker:step-forked": [Turn(seconds=0.2, compute=0.17, reset=0.01)] * 3,
    }
    rates = {
        "bare": Rate(workers=2, seconds=30, programs=30, compute=None, driver_cpu=0.001),
        "docker:forked": Rate(workers=2, seconds=30, programs=300, compute=0.16, driver_cpu=0.002),
    }
    bare, forked, step = bench_report.figures(ways, turns, rates)
    assert (bare.seconds, bare.per_minute, bare.overhead, bare.rate_ratio) == (2.0, 60, None, 1.0)
    assert (forked.ratio, forked.rate_ratio) == (0.1, 10)
    assert forked.overhead == pytest.approx(0.1)
    assert forked.rate_share == pytest.approx(0.8)  # 600 a minute of 2 * 60 / 0.16
    assert step.overhead == pytest.approx(0.04)
    held = bench_report.targets([bare, forked, step], {"docker": Memory(own=131 << 20), "bubblewrap": None})
    assert [target.met for target in held] == [True, True, False, False, False]
    assert bench_report.target_rows(held)[-1][1:] == ["131", "at most 130", "not met"]


@pytest.mark.parametrize(("value", "at_least", "met"), [(1, True, True), (0.9, True, False), (0.9, False, True)])
def test_a_target_is_a_bound_from_one_side(value: float, at_least: bool, met: bool) -> None:
    assert Target(name="x", value=value, bound=1.0, at_least=at_least).met is met


def test_the_first_round_is_not_counted_and_each_way_settles_after_its_turn() -> None:
    seen: list[str] = []

    def noted(kind: str) -> Way:
        def turn(_worker: int) -> Turn:
            seen.append(kind)
            return Turn(seconds=len(seen))

        return Way(kind=kind, title=kind, turn=turn, settle=lambda: seen.append(f"{kind} settled"))

    turns = bench_timing.in_turn([noted("a"), noted("b")], 2, lambda _text, _share: None)
    assert seen == ["a", "a settled", "b", "b settled"] * 3
    assert [turn.seconds for turn in turns["a"]] == [5, 9]


def test_what_ends_in_the_time_that_counts_is_counted() -> None:
    rate = bench_timing.side_by_side(way("x", 0.05), workers=3, seconds=0.5)
    assert 1 <= rate.programs <= 33  # ten of each worker, and what began before
    assert rate.compute == pytest.approx(0.025)
    assert rate.allowed == pytest.approx(60 * 3 / 0.025)


def test_rates_are_taken_in_slices_and_joined(monkeypatch) -> None:
    monkeypatch.setattr(bench_timing, "LEAST_SLICE", 0.1)
    monkeypatch.setattr(bench_timing, "LEAST_LEAD", 0.0)
    told: list[str] = []
    found = bench_timing.rates(
        [way("a", 0.02), way("b", 0.04)], workers=2, seconds=0.4, report=lambda text, _share: told.append(text[-1])
    )
    assert told == ["a", "b"] * 3
    assert found["a"].seconds == pytest.approx(0.4)
    assert found["a"].compute == pytest.approx(0.01)
    assert found["b"].programs > 0


def test_workers_have_numbers_of_their_own_and_their_first_error_is_raised() -> None:
    numbers = set()
    both = threading.Barrier(2, timeout=30)

    def turn(worker: int) -> Turn:
        numbers.add(worker)
        both.wait()
        raise ValueError(f"worker {worker}")

    with pytest.raises(ValueError, match="worker"):
        bench_timing.side_by_side(Way(kind="x", title="x", turn=turn), workers=2, seconds=0.1)
    assert numbers == {0, 1}


def test_memory_of_a_box_is_the_sum_of_its_own_pages_and_the_most_of_those_of_files() -> None:
    command = [sys.executable, "-c", "held = bytearray(b'x' * (64 << 20)); print(flush=True); input()"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as large:
        assert large.stdout
        large.stdout.readline()
        command[2] = "print(flush=True); input()"
        with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as small:
            assert small.stdout
            small.stdout.readline()
            alone, least, both = (
                bench_memory.memory_of(box) for box in ([large.pid], [small.pid], [large.pid, small.pid])
            )
            small.communicate(b"\n")
        large.communicate(b"\n")
    assert 64 << 20 < alone.own < 96 << 20
    assert both.own == alone.own + least.own
    assert both.shared == max(alone.shared, least.shared) > 0
    assert bench_memory.memory_of([large.pid]) == bench_memory.Memory()


@pytest.mark.bubblewrap
def test_a_bubblewrap_box_that_waits_is_measured(usable) -> None:
    usable("bubblewrap")
    measured = bench_memory.idle_box("bubblewrap", bench_ways.job(load_task("titanic")))
    assert measured is not None
    assert 20 << 20 < measured.own < 500 << 20


@pytest.mark.docker
def test_peers_are_measured_and_leave_nothing(docker_image) -> None:
    from openmle_env.sandbox import engine

    with engine.connect() as client:
        before = {item["Id"] for item in client.api.containers(all=True)}
        options = [
            "--rounds",
            "1",
            "--seconds",
            "0",
            "--sandbox",
            "docker",
            "--ways",
            "container,exec,inspect",
            "--json",
        ]
        done = subprocess.run([sys.executable, str(SCRIPT), *options], capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        left = {item["Id"] for item in client.api.containers(all=True, filters={"ancestor": docker_image})}
    figures = json.loads(done.stdout)["figures"]
    assert [figure["kind"] for figure in figures] == ["container", "exec", "inspect"]
    assert all(figure["seconds"] > 0 for figure in figures)
    assert left <= before


def test_the_script_knows_its_own_ways() -> None:
    done = subprocess.run(
        [sys.executable, str(SCRIPT), "--ways", "insect"], capture_output=True, text=True, check=False
    )
    assert (done.returncode, "Did you mean 'inspect'?" in done.stderr) == (2, True)


def test_the_program_is_what_an_agent_would_write() -> None:
    compile(bench_ways.PROGRAM, "program.py", "exec")
    assert sandbox_bench.chosen("") == [*bench_ways.KINDS, "memory"]
