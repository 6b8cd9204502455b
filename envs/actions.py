"""What an action says: the text of a program, or the end of the episode."""

from __future__ import annotations

import re

FINISH = "# openmle: finish"
"""The action that ends an episode; followed by a number it also selects that program."""

_FINISH = re.compile(rf"\s*{re.escape(FINISH)}(?:[ \t]+([0-9]{{1,9}}))?\s*")


def parse_finish(action: str) -> tuple[bool, int | None]:
    """Whether ``action`` ends the episode, and the number of the program that it selects.

    >>> parse_finish("# openmle: finish 3"), parse_finish("print('hello')")
    ((True, 3), (False, None))
    """
    match = _FINISH.fullmatch(action)
    if match is None:
        return False, None
    return True, int(match[1]) if match[1] else None


def is_program(action: object) -> bool:
    """Whether ``action`` is one that `openmle_env.envs.task_env.TaskEnv.step` takes as a program."""
    return isinstance(action, str) and not parse_finish(action)[0]
