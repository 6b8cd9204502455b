"""Typographic characters in source text: what a word processor would write, and Python does not read."""

from __future__ import annotations

import re

_DOUBLE = "\u201c\u201d\u201e\u201f"
_SINGLE = "\u2018\u2019\u201a\u201b"
_CURLY = dict.fromkeys(_DOUBLE, '"') | dict.fromkeys(_SINGLE, "'")
_CLOSES = {'"': _DOUBLE, "'": _SINGLE}
_SPACES = "\u00a0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u202f\u205f"
_NOTHING = "\u200b\u200c\u200d\u2060\ufeff\u00ad"
_DASHES = "\u2010\u2011\u2012\u2013\u2014\u2015\u2212"
_WIDE = {chr(ord(plain) + 0xFEE0): plain for plain in "()[]{},:;=+-*/<>"}
_PLAIN = {
    **dict.fromkeys(_SPACES, " "),
    **dict.fromkeys(_NOTHING, ""),
    **dict.fromkeys(_DASHES, "-"),
    **_WIDE,
    "\u3000": "    ",  # as wide as two letters
    "\u2026": "...",
    "\u00d7": "*",
    "\u00f7": "/",
    "\u2264": "<=",
    "\u2265": ">=",
    "\u2260": "!=",
}
ODD = re.compile(f"[{''.join(map(re.escape, [*_CURLY, *_PLAIN]))}]")
"""Finds what `straightened` may change."""


def straightened(source: str) -> str:
    r"""The source with plain characters instead of typographic ones outside of strings and comments.

    Curly quotes that delimit a string become straight ones; what stands inside of strings and comments stays, curly
    quotes in a string with straight delimiters too.

    >>> straightened("a = \u201cit\u2019s\u201d \u2013 1  # 5 \u2013 6") == "a = \"it\u2019s\" - 1  # 5 \u2013 6"
    True
    """
    pieces: list[str] = []
    position = 0
    while position < len(source):
        character = source[position]
        if character == "#":
            end = _end_of_line(source, position)
        elif character in "\"'":
            end = _end_of_string(source, position)
        elif character in _CURLY:
            quote = _CURLY[character]
            end = _end_of_curly(source, position, quote)
            body = source[position + 1 : end - 1] if end > position + 1 else ""
            pieces.append(quote + body + quote if end > position + 1 else quote)
            position = end
            continue
        else:
            pieces.append(_PLAIN.get(character, character))
            position += 1
            continue
        pieces.append(source[position:end])
        position = end
    return "".join(pieces)


def _end_of_line(source: str, start: int) -> int:
    end = source.find("\n", start)
    return len(source) if end < 0 else end


def _end_of_string(source: str, start: int) -> int:
    """Where the string that starts here ends; one that is never closed ends with its line, or with the source."""
    quote = source[start]
    triple = source.startswith(quote * 3, start)
    ending = quote * 3 if triple else quote
    position = start + len(ending)
    while position < len(source):
        if source[position] == "\\":
            position += 2
        elif source.startswith(ending, position):
            return position + len(ending)
        elif source[position] == "\n" and not triple:
            return position
        else:
            position += 1
    return len(source)


def _end_of_curly(source: str, start: int, quote: str) -> int:
    """The same for a string that starts with a curly quote: it ends at the next one of its kind in its line.

    An apostrophe between two letters ends nothing.
    """
    for position in range(start + 1, _end_of_line(source, start)):
        if source[position] in _CLOSES[quote] + quote:
            if quote == "'" and source[position - 1].isalnum() and source[position + 1 : position + 2].isalnum():
                continue
            return position + 1
    return start + 1
