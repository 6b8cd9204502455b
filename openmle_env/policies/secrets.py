"""Keys never reach a message, a log or a record."""

from __future__ import annotations

import os
import re

_NAMES = re.compile(r"KEY|TOKEN|SECRET|PASSWORD|CREDENTIAL")
_SHORTEST = 8
"""Shorter values of the environment are words, such as ``none``, rather than keys."""
_SHAPES = re.compile(
    r"""(?<![\w-])(?:sk|pk|rk|gsk|xai|hf|key|ghp|AIza)[-_][\w*.-]{8,}   # keys as providers write them, masked ones too
    | (?<=[Bb]earer\ )[^\s"']+
    | (?<=://)[^/\s@]+(?=@)""",
    re.VERBOSE,
)
HIDDEN = "[key]"


def without_keys(text: str, *keys: str | None) -> str:
    """The text without the keys that are given, those of the environment, and what looks like one.

    >>> without_keys("Wrong key: hunter2hunter2, or sk-abcdefgh1234", "hunter2hunter2")
    'Wrong key: [key], or [key]'
    """
    known = {value for name, value in os.environ.items() if _NAMES.search(name.upper())} | {key or "" for key in keys}
    for value in sorted(known, key=len, reverse=True):
        if len(value) >= _SHORTEST:
            text = text.replace(value, HIDDEN)
    return _SHAPES.sub(HIDDEN, text)
