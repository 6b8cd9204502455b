"""A vector of environments whose programs run side by side, in one thread for each.

A step waits for a sandbox and not for Python, so threads overlap as well as processes would, and are cheaper.
"""

from __future__ import annotations

import threading
import time
from concurrent.futures import Future, wait
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from gymnasium.vector import AutoresetMode, SyncVectorEnv
from gymnasium.vector.utils import concatenate, create_empty_array, iterate

from openmle_env.envs.task_env import TaskEnv
from openmle_env.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    import gymnasium
    import numpy.typing as npt

    _SyncVectorEnv = SyncVectorEnv[Any, Any]
else:
    # It takes no parameters before Gymnasium 1.4.
    _SyncVectorEnv = SyncVectorEnv

CLOSE_SECONDS = 5.0
"""How long closing all environments may take together."""

_T = TypeVar("_T")


def make_vector(
    num_envs: int = 1, *, autoreset_mode: str | AutoresetMode = "NextStep", **arguments: Any
) -> ThreadVectorEnv:
    """Make ``num_envs`` equal environments; what ``gymnasium.make_vec`` calls for our ids.

    Args:
        num_envs: How many, at least 1.
        autoreset_mode: When an environment whose episode ended is reset: ``NextStep``, ``SameStep`` or ``Disabled``.
        **arguments: Arguments of `TaskEnv`.

    Raises:
        UsageError: An argument is wrong.
    """
    if num_envs < 1:
        raise UsageError(f"num_envs={num_envs!r} should be a whole number, at least 1.")
    return ThreadVectorEnv([lambda: TaskEnv(**arguments) for _ in range(num_envs)], autoreset_mode=autoreset_mode)


class ThreadVectorEnv(_SyncVectorEnv):
    """`gymnasium.vector.SyncVectorEnv` with every reset and step in a thread of its own.

    The environments may play different tasks: all tasks have the same spaces.

    Args:
        env_fns: Functions that make one environment each.
        autoreset_mode: As for `make_vector`.
    """

    def __init__(
        self,
        env_fns: Sequence[Callable[[], gymnasium.Env[Any, Any]]],
        *,
        autoreset_mode: str | AutoresetMode = AutoresetMode.NEXT_STEP,
    ) -> None:
        super().__init__(env_fns, autoreset_mode=autoreset_mode)

    def reset(
        self, *, seed: int | list[int | None] | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        """Reset all environments, or those of the boolean array ``options["reset_mask"]``, side by side.

        Raises:
            UsageError: Seeds or mask do not fit the number of environments.
            OpenMLEError: What an environment raised, once all others are done.
        """
        remaining = dict(options or {})
        mask = self._mask(remaining.pop("reset_mask", None))
        seeds = self._seeds(seed)
        futures = {
            index: _start(partial(self.envs[index].reset, seed=seeds[index], options=remaining))
            for index in np.flatnonzero(mask).tolist()
        }
        results, errors = self._gather(futures)
        infos: dict[str, Any] = {}
        for index, (observation, info) in results.items():
            self._env_obs[index] = observation
            for flags in (self._terminations, self._truncations, self._autoreset_envs):
                flags[index] = False
            infos = self._add_info(infos, info, index)
        _raise_first(errors)
        return self._batch(), infos

    def step(
        self, actions: Any
    ) -> tuple[Any, npt.NDArray[np.float64], npt.NDArray[np.bool_], npt.NDArray[np.bool_], dict[str, Any]]:
        """Run one program in each environment, side by side, and wait for all of them.

        Raises:
            UsageError: The actions are not one string for each environment (then nothing was run), or an episode is
                over that nobody reset.
            OpenMLEError: What an environment raised, once all others are done.
        """
        programs = self._programs(actions)
        futures = {
            index: _start(partial(self._advance, env, program, bool(self._autoreset_envs[index])))
            for index, (env, program) in enumerate(zip(self.envs, programs, strict=True))
        }
        results, errors = self._gather(futures)
        infos: dict[str, Any] = {}
        for index, advance in results.items():
            self._env_obs[index] = advance.observation
            self._rewards[index] = advance.reward
            self._terminations[index] = advance.terminated
            self._truncations[index] = advance.truncated
            self._autoreset_envs[index] = advance.terminated or advance.truncated
            if advance.last is not None:
                infos = self._add_info(infos, {"final_obs": advance.last[0], "final_info": advance.last[1]}, index)
            infos = self._add_info(infos, advance.info, index)
        _raise_first(errors)
        return (
            self._batch(),
            self._rewards.copy(),
            self._terminations.copy(),
            self._truncations.copy(),
            infos,
        )

    def close_extras(self, **_kwargs: Any) -> None:
        """Close all environments at the same time, within `CLOSE_SECONDS` together; running programs are ended."""
        deadline = time.monotonic() + CLOSE_SECONDS
        closers = [threading.Thread(target=env.close, daemon=True) for env in getattr(self, "envs", ())]
        for closer in closers:
            closer.start()
        for closer in closers:
            closer.join(max(0.0, deadline - time.monotonic()))

    def _gather(self, futures: dict[int, Future[_T]]) -> tuple[dict[int, _T], dict[int, BaseException]]:
        """Wait for all: an environment is never left behind in a step that another one ended with an error."""
        try:
            wait(futures.values())
        except BaseException:
            # Ctrl-C: nobody waits any more for what still runs.
            self.close()
            raise
        errors = {index: error for index, future in futures.items() if (error := future.exception()) is not None}
        return {index: future.result() for index, future in futures.items() if index not in errors}, errors

    def _advance(self, env: gymnasium.Env[Any, Any], program: str, over: bool) -> _Advance:
        """What one environment does in a step; runs in a thread of its own."""
        if over and self.autoreset_mode is AutoresetMode.NEXT_STEP:
            observation, info = env.reset()
            return _Advance(observation, info)
        observation, reward, terminated, truncated, info = env.step(program)
        last = None
        if (terminated or truncated) and self.autoreset_mode is AutoresetMode.SAME_STEP:
            last = (observation, info)
            observation, info = env.reset()
        return _Advance(observation, info, float(reward), terminated, truncated, last)

    def _programs(self, actions: Any) -> list[str]:
        programs = list(iterate(self.action_space, actions))
        if len(programs) != self.num_envs:
            raise UsageError(f"There are {len(programs)} actions for {self.num_envs} environments; give one for each.")
        for index, program in enumerate(programs):
            if not isinstance(program, str):
                raise UsageError(
                    f"An action is the text of a program, a str; that of environment {index} is "
                    f"{type(program).__name__}. Nothing was run."
                )
        return programs

    def _seeds(self, seed: int | list[int | None] | None) -> list[int | None]:
        if seed is None or isinstance(seed, int):
            return [None if seed is None else seed + index for index in range(self.num_envs)]
        if len(seed) != self.num_envs:
            raise UsageError(f"There are {len(seed)} seeds for {self.num_envs} environments; give one for each.")
        return list(seed)

    def _mask(self, mask: Any) -> npt.NDArray[np.bool_]:
        if mask is None:
            return np.ones(self.num_envs, dtype=np.bool_)
        array = np.asarray(mask)
        if array.shape != (self.num_envs,) or array.dtype != np.bool_ or not array.any():
            raise UsageError(f"reset_mask={mask!r} should hold {self.num_envs} booleans, at least one of them true.")
        return array

    def _batch(self) -> Any:
        empty: Any = create_empty_array(self.single_observation_space, n=self.num_envs, fn=np.zeros)
        return concatenate(self.single_observation_space, self._env_obs, empty)


@dataclass(frozen=True, slots=True)
class _Advance:
    """What came of one step or reset of one environment."""

    observation: Any
    info: dict[str, Any]
    reward: float = 0.0
    terminated: bool = False
    truncated: bool = False
    last: tuple[Any, dict[str, Any]] | None = None
    """Observation and info of an episode that ended in this step and was reset in it."""


def _start(call: Callable[[], _T]) -> Future[_T]:
    """Call in a thread of its own, which never keeps the interpreter from ending, as those of an executor do."""
    future: Future[_T] = Future()

    def run() -> None:
        try:
            result = call()
        except BaseException as error:  # noqa: BLE001  whoever waits for the future raises it
            future.set_exception(error)
        else:
            future.set_result(result)

    threading.Thread(target=run, name="openmle-env", daemon=True).start()
    return future


def _raise_first(errors: dict[int, BaseException]) -> None:
    for index, error in errors.items():
        error.add_note(f"In environment {index} of the vector.")
        raise error
