"""A step ends by this machine's clock, whatever hangs."""

from __future__ import annotations

import multiprocessing
import signal
import threading
import time
from typing import TYPE_CHECKING, Any

import pytest

from openmle_env.envs import deadline as deadlines
from openmle_env.envs.deadline import Deadline
from openmle_env.envs.task_env import FINISH
from openmle_env.graders.grader import Grader
from openmle_env.sandbox.protocol import CancelToken
from openmle_env.types import Artifact, Grade, Part, ResultStatus
from tests.envs.tiny import Box, program

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from openmle_env.envs.task_env import TaskEnv
    from openmle_env.types import Execution, Job

    Make = Callable[..., TaskEnv]


@pytest.fixture
def for_ever() -> Iterator[threading.Event]:
    """What never comes, as far as a test is concerned; at its end it does, so that no thread stays behind."""
    event = threading.Event()
    yield event
    event.set()


@pytest.fixture
def hurry(monkeypatch: pytest.MonkeyPatch) -> None:
    """A step may take hardly longer than its program."""
    monkeypatch.setattr("openmle_env.envs.episode.BOX_SECONDS", 0.3)
    monkeypatch.setattr("openmle_env.envs.episode.Episode._grading_seconds", 0.3)
    monkeypatch.setattr(deadlines, "CANCEL_SECONDS", 0.2)


def steps() -> set[int | None]:
    return {thread.ident for thread in threading.enumerate() if thread.name == "openmle-step"}


# The deadline itself


def test_work_is_done_and_its_error_raised() -> None:
    with Deadline(60, CancelToken()) as deadline:
        assert deadline.call(lambda: 7) == 7
        with pytest.raises(ZeroDivisionError):
            deadline.call(lambda: 1 // 0)
        assert not deadline.passed


def test_calls_that_follow_one_another_share_a_thread() -> None:
    with Deadline(60, CancelToken()) as deadline:
        deadline.call(lambda: None)
        before = steps()
        used = {deadline.call(threading.get_ident) for _ in range(50)}
        assert len(used) == 1
        assert steps() == before


def test_calls_at_the_same_time_do_not_wait_for_one_another() -> None:
    meet = threading.Barrier(4, timeout=60)

    def one() -> None:
        with Deadline(60, CancelToken()) as deadline:
            deadline.call(meet.wait)

    threads = [threading.Thread(target=one) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert not meet.broken


def test_a_thread_that_nobody_needs_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(deadlines, "_crew", deadlines._Crew())
    monkeypatch.setattr(deadlines, "IDLE_SECONDS", 0.05)
    with Deadline(60, CancelToken()) as deadline:
        thread = deadline.call(threading.current_thread)
        assert thread is not None
        thread.join(60)
        assert not thread.is_alive()
        assert deadline.call(lambda: 7) == 7


def test_what_listens_is_cancelled_when_time_is_up() -> None:
    with Deadline(0.05, CancelToken()) as deadline:
        heard = threading.Event()
        deadline.cancel.on_cancel(heard.set)
        assert deadline.call(lambda: heard.wait(60)) is True
        assert deadline.passed


def test_what_hangs_is_given_up(monkeypatch: pytest.MonkeyPatch, for_ever: threading.Event) -> None:
    monkeypatch.setattr(deadlines, "CANCEL_SECONDS", 0.05)
    with Deadline(0.05, CancelToken()) as deadline:
        assert deadline.call(lambda: for_ever.wait(600)) is None
        assert deadline.passed
    with Deadline(60, CancelToken()) as deadline:  # the thread that hangs is in nobody's way
        assert deadline.call(lambda: 7) == 7


def test_cancelling_ends_the_wait_and_is_not_the_clocks_doing(
    monkeypatch: pytest.MonkeyPatch, for_ever: threading.Event
) -> None:
    monkeypatch.setattr(deadlines, "CANCEL_SECONDS", 0.05)
    cancel = CancelToken()
    threading.Timer(0.05, cancel.cancel).start()
    with Deadline(600, cancel) as deadline:
        assert deadline.call(lambda: for_ever.wait(600)) is None
        assert not deadline.passed


def test_waiting_for_what_others_hold_does_not_count() -> None:
    with Deadline(0.2, CancelToken()) as deadline:

        def work() -> str:
            with deadline.cancel.waiting():
                time.sleep(0.5)
            return "done"

        assert deadline.call(work) == "done"
        assert not deadline.passed
        assert 0.4 < deadline.cancel.waited < 60
        assert 0 < deadline.left < 0.2


def test_waits_at_the_same_time_and_errors_in_them_are_counted() -> None:
    cancel = CancelToken()

    def wait() -> None:
        with cancel.waiting(), cancel.waiting():
            time.sleep(0.02)
            assert cancel.waited >= 0.04
            raise KeyError

    with pytest.raises(KeyError):
        wait()
    before = cancel.waited
    time.sleep(0.02)
    assert cancel.waited == before


def test_ctrl_c_ends_what_runs_first() -> None:
    ended: list[bool] = []
    running = threading.Event()
    with Deadline(600, CancelToken()) as deadline:
        heard = threading.Event()
        deadline.cancel.on_cancel(heard.set)

        def work() -> None:
            running.set()
            ended.append(heard.wait(60))

        def interrupt() -> None:
            running.wait(60)
            signal.pthread_kill(threading.main_thread().ident, signal.SIGINT)

        threading.Thread(target=interrupt).start()
        with pytest.raises(KeyboardInterrupt):
            deadline.call(work)
    assert ended == [True]


def _in_a_child(queue: Any) -> None:
    with Deadline(60, CancelToken()) as deadline:
        queue.put(deadline.call(lambda: 7))


@pytest.mark.filterwarnings("ignore:.*multi-threaded.*:DeprecationWarning")
def test_a_forked_child_has_threads_of_its_own() -> None:
    with Deadline(60, CancelToken()) as deadline:
        deadline.call(lambda: None)  # a thread waits for work, and the child has it not
    context = multiprocessing.get_context("fork")
    queue = context.SimpleQueue()
    child = context.Process(target=_in_a_child, args=(queue,))
    child.start()
    child.join(60)
    assert child.exitcode == 0
    assert queue.get() == 7


# Steps


class Hanging(Box):
    """As `Box`, but a program ``stuck`` never comes back, whoever cancels it, and giving boxes back takes for ever."""

    def __init__(self, for_ever: threading.Event) -> None:
        super().__init__()
        self.for_ever = for_ever
        self.hang_at_the_end = False

    def run(self, job: Job, *, cancel: CancelToken | None = None) -> Execution:
        if job.program == "stuck":
            self.jobs.append(job)
            self.for_ever.wait(600)
        return super().run(job, cancel=cancel)

    def end_session(self, session: str) -> None:
        super().end_session(session)
        if self.hang_at_the_end:
            self.for_ever.wait(600)


@pytest.mark.parametrize("text", ["stuck", "hang"])
def test_a_run_that_hangs_is_no_failure_of_the_program(
    make_env: Make, hurry: None, for_ever: threading.Event, text: str
) -> None:
    box = Hanging(for_ever)
    env = make_env(sandbox=box, limits={"wall_seconds": 0.2})
    env.reset()
    env.step(program(0.9))
    _, reward, terminated, truncated, info = env.step(text)
    outcome = info["outcome"]
    assert outcome.status is ResultStatus.SANDBOX_UNCONFIRMED
    assert "did not come to its end within 0.5 s" in outcome.execution.reason
    assert (reward, terminated, truncated, info["fault"]) == (0.0, False, True, "infrastructure")
    assert info["final"].selected == 1
    assert info["final"].test_score is not None
    assert len(box.jobs) == 2  # it is not tried again: the time is up


@pytest.mark.parametrize("stuck", [Part.VALIDATION, Part.TEST])
def test_a_grader_that_hangs_is_no_failure_of_the_program(
    make_env: Make, hurry: None, for_ever: threading.Event, monkeypatch: pytest.MonkeyPatch, stuck: Part
) -> None:
    grade = Grader.grade

    def hang(self: Grader, submission: Artifact, part: Part, **arguments: Any) -> Grade:
        if part is stuck:
            for_ever.wait(600)
        return grade(self, submission, part, **arguments)

    env = make_env(limits={"wall_seconds": 0.2})
    env.reset()  # which grades, too
    monkeypatch.setattr(Grader, "grade", hang)
    _, reward, _, truncated, info = env.step(program(0.9))
    if stuck is Part.TEST:
        assert reward > 0
        info = env.step(FINISH)[4]
        failed = info["final"].grade
    else:
        assert (reward, truncated) == (0.0, True)
        assert info["outcome"].execution.status is ResultStatus.SUCCESS
        failed = info["outcome"].grade
    assert info["fault"] == "infrastructure"
    assert failed.status is ResultStatus.SANDBOX_UNCONFIRMED
    assert failed.score is None
    assert "Grading the submission did not come to its end" in failed.message


def test_boxes_that_cannot_be_given_back_hold_up_nobody(make_env: Make, hurry: None, for_ever: threading.Event) -> None:
    box = Hanging(for_ever)
    env = make_env(sandbox=box)
    box.hang_at_the_end = True
    env.reset()
    env.step(program(0.9))
    info = env.step(FINISH)[4]
    assert info["final"].test_score is not None
    env.reset()
    env.close()
    assert len(set(box.ended)) == 2


def test_waiting_for_a_device_costs_the_agent_nothing(make_env: Make, hurry: None) -> None:
    class Queue(Box):
        def run(self, job: Job, *, cancel: CancelToken | None = None) -> Execution:
            assert cancel is not None
            with cancel.waiting():
                time.sleep(1.0)
            return super().run(job, cancel=cancel)

    env = make_env(sandbox=Queue(), seconds=5.0, limits={"wall_seconds": 0.2})
    env.reset()
    observation, _, _, _, info = env.step(program(0.9))
    assert info["outcome"].status is ResultStatus.SUCCESS
    assert env._episode is not None
    assert env._episode.waited >= 1.0
    assert observation["seconds_left"][0] > 4.0
