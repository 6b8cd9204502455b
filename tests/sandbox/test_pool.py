"""The pool of boxes that wait, with boxes that are only remembered."""

from __future__ import annotations

import signal
import threading
import time
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from openmle_env.errors import SandboxUnavailableError
from openmle_env.sandbox import pool as pools
from openmle_env.sandbox.pool import Pool, Waiting
from openmle_env.sandbox.protocol import CancelToken
from openmle_env.sandbox.verdict import Aftermath
from openmle_env.types import Job, Limits
from tests.sandbox.processes import wait_until

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from openmle_env.sandbox.plan import Plan

JOB = Job(program="pass", modules=())
NEVER = CancelToken()


class FakeBox:
    """Remembers that it was closed; it is ready again after each program unless it is told otherwise."""

    def __init__(self, job: Job) -> None:
        self.job, self.closed, self.ended = job, threading.Event(), False

    def kill(self) -> None:
        self.ended = True

    def close(self) -> Aftermath:
        self.closed.set()
        return Aftermath()


class FakeChannel:
    def __init__(self, box: FakeBox) -> None:
        self.box = box

    def has_ended(self) -> bool:
        return self.box.ended

    def wait_ready(self, deadline: float) -> None:
        if self.box.ended:
            raise TimeoutError


class Maker:
    """Opens boxes, and may be told to wait or to fail."""

    def __init__(self) -> None:
        self.made: list[FakeBox] = []
        self.go = threading.Event()
        self.go.set()
        self.asked = 0
        self.fails = False

    def __call__(self, job: Job, plan: Plan, cancel: CancelToken) -> Waiting:
        self.asked += 1
        unregister = cancel.on_cancel(self.go.set)
        self.go.wait(30)
        unregister()
        if self.fails or cancel.cancelled:
            raise SandboxUnavailableError("the engine is gone")
        box = FakeBox(job)
        self.made.append(box)
        made: Any = box, FakeChannel(box)
        return Waiting(*made, plan)


@pytest.fixture
def maker() -> Maker:
    return Maker()


@pytest.fixture
def make(maker: Maker) -> Iterator[Callable[[str], Pool]]:
    pools_made: list[Pool] = []

    def build(way: str) -> Pool:
        pools_made.append(Pool(maker, forks=way == "forked"))
        return pools_made[-1]

    yield build
    for pool in pools_made:
        pool.close(time.monotonic() + 5)
    assert all(box.closed.is_set() for box in maker.made)


def run(pool: Pool, job: Job = JOB, *, fit: bool = True) -> FakeBox:
    with pool.taking(job, NEVER, pool.members[-1]) as waiting:
        assert waiting is not None
        waiting.fit = fit
        box: Any = waiting.box
        return box


def test_a_box_is_used_once_and_replaced(make, maker) -> None:
    pool = make("single")
    pool.promise(JOB)
    assert wait_until(lambda: len(maker.made) == 1)
    first = run(pool)
    assert first is maker.made[0]
    assert first.closed.wait(5)
    assert wait_until(lambda: len(maker.made) == 2)
    assert run(pool) is maker.made[1]


def test_without_notice_the_run_makes_its_box(make, maker) -> None:
    assert run(make("single")) is maker.made[0]


def test_close_waits_for_a_box_that_comes_too_late(monkeypatch) -> None:
    made: list[FakeBox] = []
    begun = threading.Event()

    def open_ready(job: Job, plan: Plan, cancel: CancelToken) -> Waiting:
        begun.set()
        assert wait_until(lambda: cancel.cancelled)
        made.append(FakeBox(job))
        waiting: Any = made[0], FakeChannel(made[0])
        return Waiting(*waiting, plan)

    def slowly(pool: Pool, waiting: Waiting) -> None:
        time.sleep(0.2)
        retire(pool, waiting)

    retire = Pool._retire
    monkeypatch.setattr(Pool, "_retire", slowly)
    pool = Pool(open_ready, forks=False)
    pool.promise(JOB)
    assert begun.wait(5)
    pool.close(time.monotonic() + 5)
    assert [box.closed.is_set() for box in made] == [True]


def test_a_run_takes_what_is_about_to_be_ready(make, maker) -> None:
    pool = make("single")
    maker.go.clear()
    pool.promise(JOB)
    assert wait_until(lambda: maker.asked == 1)
    taken: list[FakeBox] = []
    runner = threading.Thread(target=lambda: taken.append(run(pool)))
    runner.start()
    time.sleep(0.05)
    assert maker.asked == 1
    maker.go.set()
    runner.join(5)
    assert taken == maker.made[:1]


def test_as_many_wait_as_ran_at_once(make, maker, monkeypatch) -> None:
    monkeypatch.setattr(pools, "_cores", lambda: 8)
    pool = make("single")
    together = threading.Barrier(3)

    def one() -> None:
        with pool.taking(JOB, NEVER, maker):
            together.wait(5)

    runners = [threading.Thread(target=one) for _ in range(3)]
    for runner in runners:
        runner.start()
    for runner in runners:
        runner.join(5)
    assert wait_until(lambda: len(maker.made) >= 6)
    time.sleep(0.05)
    assert sum(not box.closed.is_set() for box in maker.made) == 3


def test_no_more_wait_than_the_machine_holds(make, maker, monkeypatch) -> None:
    monkeypatch.setattr(pools, "capacity", lambda: 2)
    pool = make("single")
    for number in range(5):
        pool.promise(replace(JOB, session=str(number)))
    assert wait_until(lambda: len(maker.made) == 2)
    time.sleep(0.05)
    assert len(maker.made) == 2


def test_what_ended_while_it_waited_is_not_handed_out(make, maker) -> None:
    pool = make("single")
    pool.promise(JOB)
    assert wait_until(lambda: len(maker.made) == 1)
    maker.made[0].ended = True
    assert run(pool) is not maker.made[0]


def test_a_session_keeps_its_box_and_shares_it_with_nobody(make, maker) -> None:
    pool = make("forked")
    one, two = replace(JOB, session="one"), replace(JOB, session="two")
    first = run(pool, one)
    assert run(pool, one) is first
    other = run(pool, two)
    assert other is not first
    assert run(pool, one) is first
    assert run(pool, two) is other
    pool.end_session("one")
    assert first.closed.wait(5)
    assert run(pool, one) not in (first, other)
    assert not other.closed.is_set()


def test_without_a_session_nothing_is_shared(make, maker) -> None:
    pool = make("forked")
    first = run(pool)
    assert first.closed.wait(5)
    assert run(pool) is not first


def test_two_runs_of_a_session_at_once_share_no_box(make, maker) -> None:
    pool = make("forked")
    job = replace(JOB, session="one")
    with pool.taking(job, NEVER, pool.members[-1]) as outer:
        outer.fit = True
        assert run(pool, job) is not outer.box


def test_a_session_that_ends_during_its_run_keeps_no_box(make, maker) -> None:
    pool = make("forked")
    job = replace(JOB, session="one")
    with pool.taking(job, NEVER, pool.members[-1]) as waiting:
        waiting.fit = True
        pool.end_session("one")
    assert maker.made[0].closed.wait(5)
    assert run(pool, job) is not maker.made[0]
    assert run(pool, job) is maker.made[1]


def test_a_run_that_never_comes_keeps_no_further_box(make, maker) -> None:
    pool = make("forked")
    for _ in range(3):
        pool.promise(replace(JOB, session="one"))
    assert wait_until(lambda: len(maker.made) == 1)
    pool.end_session("one")
    pool.promise(replace(JOB, session="two"))
    time.sleep(0.05)
    assert len(maker.made) == 1


@pytest.mark.parametrize("accident", ["no report", "not clean", "other limits"])
def test_a_session_gets_another_box_after(accident, make, maker) -> None:
    pool = make("forked")
    job = replace(JOB, session="one")
    first = run(pool, job, fit=accident != "no report")
    if accident == "not clean":
        first.ended = True
    if accident == "other limits":
        job = replace(job, limits=Limits(memory_mb=100))
    second = run(pool, job)
    assert second is not first
    assert first.closed.wait(5)
    assert second.job.limits == job.limits


def test_a_folder_that_took_the_place_of_another_is_another(make, maker, tmp_path: Path) -> None:
    data = tmp_path / "data"
    data.mkdir()
    job = replace(JOB, session="one", inputs={"/data": data})
    pool = make("forked")
    first = run(pool, job)
    data.rename(tmp_path / "old")
    data.mkdir()
    assert run(pool, job) is not first


def test_what_a_job_is_told_at_its_start_needs_no_other_box(make, maker) -> None:
    pool = make("forked")
    job = replace(JOB, session="one")
    first = run(pool, job)
    limits = Limits(wall_seconds=7, log_kb=2, artifact_mb=3, open_files=20, file_mb=5)
    assert run(pool, replace(job, limits=limits, program="1", environment={"A": "b"}, collect=())) is first


def test_boxes_that_wait_long_are_given_up(make, maker, monkeypatch) -> None:
    monkeypatch.setattr(pools, "IDLE_SECONDS", 0.2)
    pool = make("forked")
    pool.promise(JOB)
    session = run(pool, replace(JOB, session="one"))
    assert wait_until(lambda: len(maker.made) >= 1 and all(box.closed.is_set() for box in maker.made))
    assert session.closed.is_set()
    assert run(pool) not in maker.made[:1]


def test_a_box_that_cannot_be_made_is_the_runs_error(make, maker) -> None:
    pool = make("single")
    maker.fails = True
    pool.promise(JOB)
    assert wait_until(lambda: maker.asked == 1)
    with pytest.raises(SandboxUnavailableError, match="the engine is gone"):
        run(pool)
    maker.fails = False
    run(pool)


def test_cancelling_ends_the_wait_for_a_box(make, maker) -> None:
    pool = make("single")
    maker.go.clear()
    pool.promise(JOB)
    assert wait_until(lambda: maker.asked == 1)
    cancel = CancelToken()
    threading.Timer(0.05, cancel.cancel).start()
    with pool.taking(JOB, cancel, maker) as waiting:
        assert waiting is None
    maker.go.set()


def test_closing_ends_what_is_being_made(make, maker) -> None:
    pool = make("single")
    maker.go.clear()
    pool.promise(JOB)
    assert wait_until(lambda: maker.asked == 1)
    pool.close(time.monotonic() + 5)
    with pool.taking(JOB, NEVER, maker) as waiting:
        assert waiting is None


def test_sandboxes_of_one_identity_share_a_pool_until_the_last_leaves(maker) -> None:
    members = [pools.join(("test", maker), maker, forks=False) for _ in range(16)]
    assert len(set(map(id, members))) == 1
    run(members[0])
    for member in members[:-1]:
        pools.leave(member, maker, time.monotonic() + 5)
    run(members[-1])
    assert wait_until(lambda: len(maker.made) == 3)
    pools.leave(members[-1], maker, time.monotonic() + 5)
    assert all(box.closed.is_set() for box in maker.made)
    other = pools.join(("test", maker), maker, forks=False)
    assert other is not members[0]
    pools.leave(other, maker, time.monotonic() + 5)


def test_a_sandbox_that_was_closed_makes_no_more_boxes(maker) -> None:
    """The others that share its pool make theirs themselves, also those that were to wait."""
    closed = Maker()
    pool = pools.join(("test", maker), closed, forks=False)
    assert pools.join(("test", maker), maker, forks=False) is pool
    with pool.taking(JOB, NEVER, maker):
        assert (len(closed.made), len(maker.made)) == (0, 1)
    closed.fails = True
    pools.leave(pool, closed, time.monotonic() + 5)
    pool.promise(JOB)
    assert wait_until(lambda: len(maker.made) == 2)
    pools.leave(pool, maker, time.monotonic() + 5)
    assert all(box.closed.is_set() for box in maker.made)


def test_closing_waits_for_the_boxes_of_runs_that_end(make, maker) -> None:
    pool = make("single")
    begun, go = threading.Event(), threading.Event()

    def one() -> None:
        with pool.taking(JOB, NEVER, maker):
            begun.set()
            go.wait(10)

    runner = threading.Thread(target=one)
    runner.start()
    assert begun.wait(5)
    threading.Timer(0.1, go.set).start()
    pool.close(time.monotonic() + 5)
    assert maker.made[0].closed.is_set()
    runner.join(5)


def test_a_box_is_given_up_where_its_taking_is_interrupted(make, maker, monkeypatch) -> None:
    pool = make("forked")
    job = replace(JOB, session="one")
    first = run(pool, job)
    monkeypatch.setattr(FakeChannel, "wait_ready", lambda *_: signal.raise_signal(signal.SIGINT))
    with pytest.raises(KeyboardInterrupt):
        run(pool, job)
    assert first.closed.wait(5)


@pytest.mark.parametrize(
    "job", [Job(program=""), replace(JOB, limits=Limits(gpus=1)), replace(JOB, limits=Limits(wall_seconds=1e6))]
)
def test_jobs_for_which_no_box_waits(job: Job) -> None:
    assert not pools.may_wait(job)
    assert pools.may_wait(JOB)
