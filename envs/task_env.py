"""The environment: `reset` returns the task, `step` takes a program, runs it in a sandbox and grades what it wrote."""

from __future__ import annotations

import threading
from dataclasses import asdict, fields
from typing import TYPE_CHECKING, Any, ClassVar, get_args

import gymnasium

from openmle_env import settings
from openmle_env.envs import observation
from openmle_env.envs.actions import FINISH, parse_finish
from openmle_env.envs.episode import Episode, FinalResult
from openmle_env.envs.hardware import need_gpus
from openmle_env.envs.options import RENDER_MODES, Options
from openmle_env.envs.rendering import table
from openmle_env.envs.rewards import OF_A_BOARD, Reward, reward_words
from openmle_env.errors import PackError, UsageError, unknown_name
from openmle_env.sandbox import select
from openmle_env.task_registry import lookup, prepare, spec
from openmle_env.task_registry.render import render as render_task
from openmle_env.types import Fault, Part

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from openmle_env.graders.grader import Grader
    from openmle_env.sandbox.protocol import Sandbox
    from openmle_env.task_registry.lookup import Pack, Task
    from openmle_env.types import Feedback, Limits, Outcome, TaskSpec, Warm

__all__ = ["FINISH", "FinalResult", "TaskEnv"]

Observation = dict[str, Any]
Info = dict[str, Any]


class TaskEnv(gymnasium.Env[Observation, str]):
    """A machine-learning-engineering task as a Gymnasium environment.

    The action is the text of a program. The action ``FINISH`` (``# openmle: finish``) ends the episode;
    ``# openmle: finish 3`` also selects program 3. `step` never raises for what a program does: it returns a status.

    ``info`` is for whoever runs the agent, not for the agent, which may be shown the observation and
    ``outcome.feedback``. It holds ``outcome`` (`openmle_env.types.Outcome`) after a program, ``final`` (`FinalResult`)
    after the last step, ``fault`` (``"infrastructure"`` or ``"task"``) where a result, the final one included, must not
    be scored as the agent's, and the floats ``validation_score``, ``best_score``, ``wall_seconds`` and ``test_score``,
    each left out where it has no value. With a reward that is made of a place, ``medal`` or ``rank``, it also holds
    the floats ``validation_human_rank`` and ``validation_any_medal``: the place of the validation score, which that
    reward tells anyway. After a program that was given GPUs it holds their uuids, ``gpus``. Where the task has a
    leaderboard, the last step's also holds the floats ``human_rank`` (share of the teams that the test score beats) and
    ``any_medal`` (1 or 0); ``final.place`` says more.

    The first `reset` starts the sandbox and prepares the task; making an environment starts nothing.

    Args:
        task: Name of a built-in task, or path of a task pack.
        sandbox: Name of a backend (``auto``, ``docker``, ``bubblewrap``, ``scripted``), or a sandbox to share, which
            its owner closes. ``auto`` is what the setting ``OPENMLE_SANDBOX`` says, or the first that works.
        warm: Where programs run: ``single``, ``forked`` or ``off`` (see `openmle_env.types.Warm`); what the setting
            ``OPENMLE_WARM`` says where left out, or the given sandbox.
        feedback: What the agent is told: ``validation`` (score and validity), ``validity`` (no score) or ``none``
            (only how the program ran). It governs the score fields of the observation too, but not the reward.
        reward: ``normalized``, ``score``, ``improvement``, ``medal`` or ``rank`` (see
            `openmle_env.envs.rewards.step_reward`). The last two need a task with a leaderboard.
        programs: How many programs an episode may submit; the task's own number where left out.
        seconds: Wall time of an episode, the agent's thinking included; the task's own where left out.
        limits: What one program may use: a `Limits`, or a mapping of those that differ from the task's.
        render_mode: ``ansi``, or None.
        pack_version: Refuse the installed pack where it has another version.
        pack_hash: Refuse the installed pack where it has another hash.

    Raises:
        UsageError: An argument is wrong.
        PackError: The pack cannot be used, or is not the one that ``pack_version`` and ``pack_hash`` name.
    """

    # Gymnasium declares it for instances, but reads it from the class.
    metadata: ClassVar[dict[str, Any]] = {"render_modes": list(RENDER_MODES), "render_fps": 1}  # type: ignore[misc]

    def __init__(
        self,
        task: str | Path = "titanic",
        *,
        sandbox: str | Sandbox = "auto",
        warm: Warm | None = None,
        feedback: Feedback = "validation",
        reward: Reward = "normalized",
        programs: int | None = None,
        seconds: float | None = None,
        limits: Limits | Mapping[str, float] | None = None,
        render_mode: str | None = None,
        pack_version: str | None = None,
        pack_hash: str | None = None,
    ) -> None:
        self.options = Options(
            task=task,
            sandbox=sandbox,
            warm=warm,
            feedback=feedback,
            reward=reward,
            programs=programs,
            seconds=seconds,
            limits=limits,
            render_mode=render_mode,
            pack_version=pack_version,
            pack_hash=pack_hash,
        )
        self._pack = lookup.find(task)
        _check_pack(self._pack, self.options)
        _check_reward(self._pack, self.options)
        self.render_mode = render_mode
        self.observation_space = observation.observation_space()
        self.action_space = observation.action_space()
        self._lock = threading.Lock()
        self._closed = False
        self._sandbox: Sandbox | None = None
        self._task: Task | None = None
        self._grader: Grader | None = None
        self._task_text = ""
        self._episode: Episode | None = None

    @property
    def task_spec(self) -> TaskSpec:
        """The public specification, with the budgets and limits of this environment.

        Before the first `reset` it lists the files only where the task was prepared by an earlier run.

        Raises:
            PackError: The task is not prepared, and its pack leaves out what is only known then.
        """
        if self._task is not None:
            return self.options.applied(self._task.spec)
        prepared = prepare.locate(self._pack)
        return self.options.applied(spec.build(self._pack, prepared.manifest if prepared else None))

    @property
    def running(self) -> bool:
        """Whether an episode has begun and is not over, so that `step` is possible."""
        return not self._closed and self._episode is not None and not self._episode.over

    @property
    def next_index(self) -> int:
        """The number that the next program will have in its episode, from 1.

        Raises:
            UsageError: No episode is running.
        """
        return self._running().next_index

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Observation, Info]:
        """Start an episode; the first time, start the sandbox and prepare the task too.

        Raises:
            SandboxUnavailableError: No sandbox could be started, or the task's programs get GPUs and there are too few.
            PreparationError: The task's data could not be made.
            UsageError: The environment is closed, or ``options`` holds anything; there are none.
        """
        super().reset(seed=seed)
        for name in options or ():
            raise unknown_name("reset option", name, (), hint="Give arguments of TaskEnv to gymnasium.make instead.")
        sandbox = self._open_sandbox()
        if self._task is None or self._grader is None:
            self._task = lookup.load_task(self.options.task, sandbox=sandbox)
            self._pack = self._task.pack
            _check_pack(self._pack, self.options)
            _check_reward(self._pack, self.options)
            self._grader = self._task.grader(sandbox)
            self._task_text = self._describe_task()
        need_gpus(self.task_spec, sandbox)
        episode = Episode(
            sandbox=sandbox,
            task=self._task,
            grader=self._grader,
            spec=self.task_spec,
            feedback=self.options.feedback,
            reward=self.options.reward,
            leaderboard=self._task.leaderboard,
        )
        with self._lock:
            if self._closed:
                raise _closed_error()
            last, self._episode = self._episode, episode
        if last is not None:
            last.end_session()
        episode.warm_up()
        if not self.running:  # closed meanwhile, by another thread
            episode.end_session()
        return self._observe(episode), {}

    def step(self, action: str) -> tuple[Observation, float, bool, bool, Info]:
        """Run a program, or end the episode.

        Raises:
            UsageError: The action is no string, or no episode is running.
        """
        if not isinstance(action, str):
            raise UsageError(f"An action is the text of a program, a str; this one is {type(action).__name__}.")
        episode = self._running()
        finish, choice = parse_finish(action)
        if finish:
            info = _info(episode, None, episode.finish(choice))
            return self._observe(episode), 0.0, True, False, info
        outcome = episode.submit(action)
        faulty = outcome.status.fault in {Fault.TASK, Fault.INFRASTRUCTURE}
        terminated = not faulty and episode.programs_left <= 0
        truncated = faulty or (not terminated and episode.seconds_left <= 0)
        final = episode.finish() if terminated or truncated else None
        info = _info(episode, outcome, final)
        return self._observe(episode, outcome), outcome.reward, terminated, truncated, info

    def render(self) -> str | None:
        """The episode so far as a table, in the mode ``ansi``."""
        if self.render_mode is None:
            gymnasium.logger.warn("render() does nothing without a render_mode: make the environment with 'ansi'.")
            return None
        return table(self._episode) if self._episode else f"{self._pack.slug}: no episode yet"

    def close(self) -> None:
        """End what runs and give the sandbox back, within 5 seconds; from any thread, any number of times."""
        with self._lock:
            self._closed = True
            sandbox, self._sandbox = self._sandbox, None
            episode = self._episode
        if episode is not None:
            episode.cancel.cancel()
        if sandbox is not None and sandbox is self.options.sandbox and episode is not None:
            episode.end_session()
        elif sandbox is not None:
            self._give_back(sandbox)

    def cheat(self) -> str:
        """The pack's oracle program, which knows the answers: for tests of the task. Counted as a look at all answers.

        Raises:
            UsageError: No episode is running.
            PackError: The pack has no oracle program.
        """
        episode = self._running()
        program = episode.task.oracle_program()
        episode.grader.record_look(Part.ALL)
        return program

    def describe(self) -> dict[str, Any]:
        """What this environment is, for records: task, versions, sandbox and settings, as JSON values."""
        task = self.task_spec
        sandbox = self._episode.sandbox if self._episode else None
        return {
            "task": task.slug,
            "pack_version": self._pack.config.version,
            "pack_hash": self._pack.hash,
            "metric": task.metric,
            "higher_is_better": task.higher_is_better,
            "sandbox": sandbox.name if sandbox else None,
            "warm": getattr(sandbox, "warm", None) if sandbox else self.options.warm,
            "confinement": asdict(sandbox.confinement()) if sandbox else None,
            "settings": {
                "feedback": self.options.feedback,
                "reward": self.options.reward,
                "programs": task.programs,
                "seconds": task.seconds,
                "limits": asdict(task.limits),
            },
        }

    def __reduce__(self) -> tuple[Any, ...]:
        # A copy starts afresh: neither a sandbox nor a running episode can be carried to another process.
        return _remake, (self.options, self.spec)

    def _describe_task(self) -> str:
        task = self.task_spec
        said = reward_words(self.options.reward, task.reward_bounds, higher_is_better=task.higher_is_better)
        return render_task(task, said)

    def _open_sandbox(self) -> Sandbox:
        with self._lock:
            if self._closed:
                raise _closed_error()
            if self._sandbox is not None:
                return self._sandbox
        # Choosing and starting one may take seconds, in which another thread can close this environment.
        wanted = self.options.sandbox
        if wanted == "auto":
            wanted = settings.load().sandbox
        sandbox = select.create(wanted, warm=self.options.warm) if isinstance(wanted, str) else wanted
        if not self._adopt(sandbox):
            self._give_back(sandbox)
            raise _closed_error()
        return sandbox

    def _adopt(self, sandbox: Sandbox) -> bool:
        with self._lock:
            self._sandbox = None if self._closed else sandbox
            return not self._closed

    def _give_back(self, sandbox: Sandbox) -> None:
        if sandbox is not self.options.sandbox:
            sandbox.close()

    def _running(self) -> Episode:
        if self._closed:
            raise _closed_error()
        if self._episode is None:
            raise UsageError("There is no episode yet: call reset() first.")
        if self._episode.over:
            raise UsageError("The episode is over: call reset() to start another.")
        return self._episode

    def _observe(self, episode: Episode, outcome: Outcome | None = None) -> Observation:
        feedback = self.options.feedback
        told = feedback == "validation"
        return observation.observation(
            task=self._task_text,
            feedback=outcome.feedback if outcome else "",
            status=observation.shown_status(outcome.status, outcome.execution, feedback) if outcome else None,
            score=outcome.score if outcome and told else None,
            best_score=episode.best_score if told else None,
            programs_left=episode.programs_left,
            seconds_left=episode.seconds_left,
        )


def _info(episode: Episode, outcome: Outcome | None, final: FinalResult | None) -> Info:
    info: Info = {}
    numbers = {"best_score": episode.best_score}
    if outcome is not None:
        info["outcome"] = outcome
        numbers |= {"validation_score": outcome.score, "wall_seconds": outcome.execution.wall_seconds}
        if outcome.execution.gpus:
            info["gpus"] = outcome.execution.gpus
        if episode.reward in OF_A_BOARD and episode.leaderboard is not None and outcome.score is not None:
            place = episode.leaderboard.place(outcome.score)
            numbers["validation_human_rank"] = place.human_rank
            numbers["validation_any_medal"] = float(place.medal is not None)
    if final is not None:
        info["final"] = final
        numbers["test_score"] = final.test_score
        if final.place is not None:
            numbers |= {"human_rank": final.place.human_rank, "any_medal": float(final.place.medal is not None)}
    # Vector environments take an array's type from the first value: floats, or nothing.
    info.update({name: float(value) for name, value in numbers.items() if value is not None})
    statuses = [outcome.status] if outcome else []
    if final is not None and final.grade is not None:
        statuses.append(final.grade.status)
    faults = [status.fault for status in statuses if status.fault in {Fault.TASK, Fault.INFRASTRUCTURE}]
    if faults:
        info["fault"] = faults[0].value
    return info


def _check_pack(pack: Pack, options: Options) -> None:
    """Refuse a pack that is not the one that was asked for."""
    for name, wanted, found in (
        ("version", options.pack_version, pack.config.version),
        ("hash", options.pack_hash, pack.hash if options.pack_hash else None),
    ):
        if wanted is not None and wanted != found:
            raise PackError(
                f"Task {pack.slug!r} was asked for with {name} {wanted!r}, and the installed pack has {found!r}. "
                "Install the pack that is wanted, or leave pack_version and pack_hash out. "
                "After a change to a pack, make the index of its folder again: openmle pack index FOLDER; "
                "for a built-in one: python -m openmle_env.task_registry.index --write"
            )


def _check_reward(pack: Pack, options: Options) -> None:
    """Refuse a reward that the task cannot give."""
    if options.reward in OF_A_BOARD and pack.config.leaderboard is None:
        others = ", ".join(repr(kind) for kind in get_args(Reward) if kind not in OF_A_BOARD)
        raise UsageError(
            f"reward={options.reward!r} is made of a place on a leaderboard, and task {pack.slug!r} has none. "
            f"Take one of {others}, or add 'leaderboard' to its pack.yaml."
        )


def _closed_error() -> UsageError:
    return UsageError("The environment is closed: make a new one.")


def _remake(options: Options, spec: Any) -> TaskEnv:
    env = TaskEnv(**{item.name: getattr(options, item.name) for item in fields(options)})
    env.spec = spec
    return env
