"""Text of a program as people and agents are shown it: nothing in it steers a terminal or hides what stands there."""

from __future__ import annotations

import re

_STEERS = re.compile(
    r"""\r\n                            # a line end like any other
    | [\x00-\x08\x0b-\x1f\x7f-\x9f]     # C0 and C1 controls but newline and tab
    | [\u2028\u2029]                    # line ends that are none to the reader of a log
    | [\u202a-\u202e\u2066-\u2069]      # turn the direction of what follows
    | [\ud800-\udfff]                   # half of a character, which no stream can write
    """,
    re.VERBOSE,
)


def printable(text: str) -> str:
    r"""Show what would steer a terminal as an escape, as in a string of Python; text that was shown before stays.

    >>> print(printable("red: \x1b[31m, bell: \a\r\nover the line: \r, right to left: \u202e"))
    red: \x1b[31m, bell: \x07
    over the line: \r, right to left: \u202e
    """
    return _STEERS.sub(_escaped, text)


def _escaped(match: re.Match[str]) -> str:
    found = match[0]
    if found in _NAMED:
        return _NAMED[found]
    return f"\\x{ord(found):02x}" if ord(found) < 0x100 else f"\\u{ord(found):04x}"


_NAMED = {"\r\n": "\n", "\r": "\\r"}
