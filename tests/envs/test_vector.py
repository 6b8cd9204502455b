from __future__ import annotations

import subprocess
import sys
import threading
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import gymnasium
import numpy as np
import pytest
from gymnasium.vector import AsyncVectorEnv, AutoresetMode, SyncVectorEnv

from openmle_env.envs.task_env import FINISH, TaskEnv
from openmle_env.envs.vector import ThreadVectorEnv, make_vector
from openmle_env.errors import UsageError
from openmle_env.types import ResultStatus
from tests.envs.tiny import Box, make_pack, program, submission

if TYPE_CHECKING:
    from collections.abc import Callable


def make_one(pack: Path, **arguments: Any) -> TaskEnv:
    return TaskEnv(pack, sandbox=Box(), **arguments)


def test_programs_run_side_by_side(pack: Path, box: Box) -> None:
    # No program returns before all three run: one after another, the barrier would break.
    box.meet = threading.Barrier(3, timeout=60).wait
    vector = make_vector(3, task=pack, sandbox=box)
    vector.reset()
    rewards = vector.step((program(0.5), program(0.9), "timeout"))[1]
    assert rewards[2] == 0 < rewards[0] < rewards[1]
    vector.close()


def test_resets_run_side_by_side(pack: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    meet = threading.Barrier(2, timeout=60)

    def create(name: str, **_: Any) -> Box:
        meet.wait()
        return Box()

    monkeypatch.setattr("openmle_env.sandbox.select.create", create)
    vector = make_vector(2, task=pack)
    observations, infos = vector.reset(seed=5)
    assert observations in vector.observation_space
    assert infos == {}
    vector.close()


def test_observations_and_infos_are_batched_with_masks(pack: Path, box: Box) -> None:
    vector = make_vector(2, task=pack, sandbox=box)
    assert vector.metadata["autoreset_mode"] is AutoresetMode.NEXT_STEP
    assert vector.reset()[0] in vector.observation_space
    observations, rewards, terminated, truncated, infos = vector.step(("timeout", program(1.0)))
    assert observations in vector.observation_space
    assert observations["programs_left"].tolist() == [[3], [3]]
    assert rewards.tolist() == [0.0, 1.0]
    assert not terminated.any()
    assert not truncated.any()
    assert infos["_validation_score"].tolist() == [False, True]
    assert infos["validation_score"].dtype == np.float64
    assert [outcome.status for outcome in infos["outcome"]] == [ResultStatus.TIMEOUT, ResultStatus.SUCCESS]
    vector.close()


def test_next_step_resets_in_the_step_after_the_end(pack: Path, box: Box) -> None:
    vector = make_vector(2, task=pack, sandbox=box, autoreset_mode="NextStep")
    vector.reset()
    _, _, terminated, _, infos = vector.step((FINISH, program()))
    assert terminated.tolist() == [True, False]
    assert infos["_final"].tolist() == [True, False]
    jobs = len(box.jobs)
    observations, rewards, terminated, _, infos = vector.step((program(), program()))
    assert len(box.jobs) == jobs + 1
    assert observations["programs_left"].tolist() == [[4], [2]]
    assert rewards.tolist() == [0.0, 1.0]
    assert infos["_outcome"].tolist() == [False, True]
    vector.close()


def test_same_step_resets_at_once_and_keeps_the_end(pack: Path, box: Box) -> None:
    vector = make_vector(2, task=pack, sandbox=box, autoreset_mode="SameStep", programs=1)
    vector.reset()
    observations, rewards, terminated, _, infos = vector.step((program(0.9), "timeout"))
    assert terminated.tolist() == [True, True]
    assert rewards[0] > 0
    assert observations["programs_left"].tolist() == [[1], [1]]
    assert [last["programs_left"][0] for last in infos["final_obs"]] == [0, 0]
    assert [final.selected for final in infos["final_info"]["final"]] == [1, None]
    assert vector.step((program(), program()))[2].all()
    vector.close()


def test_disabled_leaves_the_reset_to_the_caller(pack: Path, box: Box) -> None:
    vector = make_vector(2, task=pack, sandbox=box, autoreset_mode="Disabled")
    vector.reset()
    vector.step((FINISH, program()))
    with pytest.raises(UsageError, match="over"):
        vector.step((program(), program()))
    observations, _ = vector.reset(options={"reset_mask": np.array([True, False])})
    assert observations["programs_left"].tolist() == [[4], [2]]
    vector.close()


@pytest.mark.parametrize("actions", [(program(),), (program(), None), (program(), program(), program())])
def test_actions_are_checked_before_any_program_runs(pack: Path, box: Box, actions: tuple[Any, ...]) -> None:
    vector = make_vector(2, task=pack, sandbox=box)
    vector.reset()
    with pytest.raises(UsageError, match="action"):
        vector.step(actions)
    assert not box.jobs
    vector.close()


def test_wrong_arguments_are_refused(pack: Path, box: Box) -> None:
    with pytest.raises(UsageError, match="num_envs=0"):
        make_vector(0, task=pack)
    vector = make_vector(2, task=pack, sandbox=box)
    with pytest.raises(UsageError, match="3 seeds for 2"):
        vector.reset(seed=[1, 2, 3])
    with pytest.raises(UsageError, match="reset_mask"):
        vector.reset(options={"reset_mask": [True]})
    vector.close()


def test_an_error_in_one_environment_waits_for_the_others(pack: Path, tmp_path: Path) -> None:
    class Failing(Box):
        def run(self, job: Any, *, cancel: Any = None) -> Any:
            raise UsageError("The data is gone.")

    other = Box()
    vector = ThreadVectorEnv([lambda: TaskEnv(pack, sandbox=Failing()), lambda: TaskEnv(pack, sandbox=other)])
    vector.reset()
    with pytest.raises(UsageError, match="data is gone") as caught:
        vector.step((program(), program()))
    assert "environment 0" in caught.value.__notes__[0]
    assert len(other.jobs) == 1
    vector.close()


def test_tasks_can_be_mixed(tmp_path: Path, box: Box) -> None:
    packs = [make_pack(tmp_path, slug) for slug in ("one", "two")]
    makers: list[Callable[[], TaskEnv]] = [partial(TaskEnv, pack, sandbox=box) for pack in packs]
    for kind in (ThreadVectorEnv, SyncVectorEnv):
        vector = kind(makers)
        first, second = vector.reset()[0]["task"]
        assert "# one" in first
        assert "# two" in second
        vector.close()


def test_close_ends_running_programs_and_can_be_repeated(pack: Path) -> None:
    boxes = [Box(), Box()]
    vector = ThreadVectorEnv([partial(TaskEnv, pack, sandbox=box) for box in boxes])
    vector.reset()
    results: list[Any] = []
    thread = threading.Thread(target=lambda: results.append(vector.step(("hang", "hang"))))
    thread.start()
    assert all(box.running.wait(60) for box in boxes)
    vector.close()
    thread.join(60)
    assert results[0][3].tolist() == [True, True]
    assert results[0][4]["fault"].tolist() == ["infrastructure", "infrastructure"]
    vector.close()


def test_an_interrupted_step_ends_what_runs(pack: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    boxes = [Box(), Box()]
    vector = ThreadVectorEnv([partial(TaskEnv, pack, sandbox=box) for box in boxes])
    vector.reset()

    def interrupt(futures: Any) -> None:
        for box in boxes:
            assert box.running.wait(60)
        waiting.extend(futures)
        raise KeyboardInterrupt

    waiting: list[Any] = []
    monkeypatch.setattr("openmle_env.envs.vector.wait", interrupt)
    with pytest.raises(KeyboardInterrupt):
        vector.step(("hang", "hang"))
    assert vector.closed
    assert [future.result(60).truncated for future in waiting] == [True, True]


def test_an_interrupted_constructor_can_be_closed() -> None:
    # Python may collect a half-made vector, and Gymnasium then closes it.
    ThreadVectorEnv.__new__(ThreadVectorEnv).close_extras()


@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
@pytest.mark.parametrize("context", ["fork", "spawn"])
@pytest.mark.parametrize("shared_memory", [True, False])
def test_asynchronous_workers_play_and_batch_texts(pack: Path, context: str, shared_memory: bool) -> None:
    makers = [partial(make_one, pack), partial(make_one, pack, feedback="none")]
    vector = AsyncVectorEnv(makers, context=context, shared_memory=shared_memory)
    try:
        first, _ = vector.reset(seed=1)
        assert all("÷3" in text for text in first["task"])
        observations, rewards, _, _, infos = vector.step((program(1.0), program(0.9)))
        told, hidden = observations["feedback"]
        assert "Validation score: 1 " in told
        assert "score" not in hidden
        assert rewards[0] == 1.0 > rewards[1] > 0
        assert [outcome.index for outcome in infos["outcome"]] == [1, 1]
        assert first["feedback"] == ("", "")
        observations = vector.step((FINISH, "timeout"))[0]
        assert observations["programs_left"].tolist() == [[3], [2]]
    finally:
        vector.close()


@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
@pytest.mark.parametrize("mode", ["sync", "async"])
def test_make_vec_in_gymnasiums_own_modes(pack: Path, mode: str) -> None:
    import json

    from gymnasium.envs.registration import EnvSpec

    from openmle_env.envs.registration import ENTRY_POINT

    spec = EnvSpec("OpenMLE/tiny-v0", entry_point=ENTRY_POINT, nondeterministic=True, kwargs={"task": str(pack)})
    vector = gymnasium.make_vec(spec, num_envs=2, vectorization_mode=mode, sandbox="scripted")
    try:
        vector.reset(seed=1)
        orders = json.dumps({"submission": submission(1.0), "wall_seconds": 2.0})
        _, rewards, _, _, infos = vector.step((f"# scripted: {orders}\npass", "pass"))
        assert rewards.tolist() == [1.0, 0.0]
        assert infos["wall_seconds"].tolist() == [2.0, 0.0]
    finally:
        vector.close()


def test_make_vec_uses_threads(pack: Path, box: Box) -> None:
    from gymnasium.envs.registration import EnvSpec

    from openmle_env.envs.registration import ENTRY_POINT, VECTOR_ENTRY_POINT

    spec = EnvSpec(
        "OpenMLE/tiny-v0",
        entry_point=ENTRY_POINT,
        vector_entry_point=VECTOR_ENTRY_POINT,
        nondeterministic=True,
        kwargs={"task": str(pack), "sandbox": "auto"},
    )
    vector = gymnasium.make_vec(spec, num_envs=2, sandbox=box)
    assert isinstance(vector, ThreadVectorEnv)
    assert vector.num_envs == 2
    vector.reset()
    assert vector.step((program(), program()))[1].tolist() == [1.0, 1.0]
    vector.close()
    one = gymnasium.make(spec, sandbox=box)
    one.reset()
    assert one.step(program())[1] == 1.0
    one.close()


def test_a_step_that_nobody_ends_does_not_keep_the_interpreter(pack: Path) -> None:
    code = f"""
import sys, threading
from pathlib import Path
from openmle_env.envs.vector import make_vector
from tests.envs.tiny import Box, program

class Stubborn(Box):
    def run(self, job, *, cancel=None):
        self.running.set()
        threading.Event().wait()

box = Stubborn()
vector = make_vector(2, task=Path({str(pack)!r}), sandbox=box)
vector.reset()
threading.Thread(target=vector.step, args=(("pass", "pass"),), daemon=True).start()
box.running.wait()
vector.close()
"""
    root = Path(__file__).parents[2]
    assert subprocess.run([sys.executable, "-c", code], cwd=root, check=False, timeout=120).returncode == 0
