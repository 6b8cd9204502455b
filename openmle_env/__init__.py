"""Machine-learning-engineering tasks as Gymnasium environments.

Programs run in a sandbox, and the reward is a hidden metric. Importing this package registers the tasks with Gymnasium,
and imports nothing heavy:

    import gymnasium
    import openmle_env

    env = gymnasium.make("OpenMLE/titanic-v0")
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from openmle_env.envs.registration import register_tasks

if TYPE_CHECKING:
    from openmle_env.envs.actions import FINISH
    from openmle_env.envs.task_env import FinalResult, TaskEnv
    from openmle_env.task_registry.lookup import load_task

    __version__: str

__all__ = ["FINISH", "FinalResult", "TaskEnv", "__version__", "load_task"]

_LAZY = {
    "FINISH": "openmle_env.envs.actions",
    "FinalResult": "openmle_env.envs.task_env",
    "TaskEnv": "openmle_env.envs.task_env",
    "load_task": "openmle_env.task_registry.lookup",
}


def __getattr__(name: str) -> Any:
    if name == "__version__":
        from importlib.metadata import version  # imports email and more

        value: Any = version("openmle-env")
    elif name in _LAZY:
        value = getattr(importlib.import_module(_LAZY[name]), name)
    else:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(globals().keys() | set(__all__))


register_tasks()
