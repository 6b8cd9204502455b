"""Fenced blocks of a text that a model wrote: with fences inside, with a longer fence outside, or never closed."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

PYTHON = frozenset({"python", "python3", "py", "py3", "ipython", "ipython3", "python-repl"})
"""Languages of blocks that hold Python."""
_PROSE = frozenset({"markdown", "md"})
_MAX_BLOCKS = 100
_MAX_ENDS = 12
"""How many ends are tried for one block, so that a text full of fences costs no more than it is worth."""

_OPENS = re.compile(
    r"""^(?P<before>[^`~\n]{0,200}?) (?P<fence>`{3,}|~{3,}) [ \t]* (?P<info>[^`\n]*)$""", re.VERBOSE | re.MULTILINE
)
_MARK = re.compile(r"[ \t]*(?:(?:[-*+]|\d{1,3}[.)])[ \t]+)?")
"""What may stand before a fence at the start of a line: space, or the mark of a list's item."""
_CLOSES = re.compile(r"^[ \t]*(`{3,}|~{3,})[ \t]*$", re.MULTILINE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Block:
    """One fenced block."""

    language: str
    """First word after the fence, in lower case; empty where there is none."""
    text: str
    """What stands between the fences, without the indent of the first."""
    closed: bool
    """Whether there is a closing fence."""

    @property
    def is_python(self) -> bool:
        """Whether the block is said to hold Python."""
        return self.language in PYTHON


def blocks(text: str, fits: Callable[[str], bool]) -> list[Block]:
    r"""All blocks of a text with line ends ``\n``, one after the other; at most 100.

    A closing fence is as long as the opening one at least, of the same character, and alone in its line. Where several
    could close a block of Python (a docstring may show a fenced example), the first after which the block fits is
    taken; where none fits, it is the first.

    Args:
        text: Prose and blocks.
        fits: Whether a text is a whole block, such as source that compiles. Asked for blocks of Python, and for those
            without a language, only.
    """
    found: list[Block] = []
    ends = list(_CLOSES.finditer(text))
    position = 0
    while len(found) < _MAX_BLOCKS and (opens := _OPENS.search(text, position)):
        language = _language(opens["info"])
        if not _MARK.fullmatch(opens["before"]) and language not in PYTHON:
            position = opens.end()
            continue
        start = min(opens.end() + 1, len(text))
        ends = [end for end in ends if end.start() >= start]
        fitting = [end for end in ends if end[1][0] == opens["fence"][0] and len(end[1]) >= len(opens["fence"])]
        indent = len(opens["before"]) if _MARK.fullmatch(opens["before"]) else 0
        after = _After(text=text, start=start, indent=indent, language=language)
        block, position = after.until(fitting, fits)
        if language in _PROSE:
            found += blocks(block.text, fits)
        else:
            found.append(block)
    return found


@dataclass(frozen=True, slots=True, kw_only=True)
class _After:
    """A text from an opening fence on."""

    text: str
    start: int
    indent: int
    language: str

    def until(self, ends: list[re.Match[str]], fits: Callable[[str], bool]) -> tuple[Block, int]:
        """The block, and where it is over."""
        may_be_python = not self.language or self.language in PYTHON
        candidates = [
            (self._block(end.start()), end.end()) for end in (ends[:_MAX_ENDS] if may_be_python else ends[:1])
        ]
        if len(ends) < _MAX_ENDS:
            candidates.append((self._block(None), len(self.text)))
        if may_be_python and len(candidates) > 1:
            for block, over in candidates:
                if fits(block.text):
                    return block, over
        return candidates[0]

    def _block(self, end: int | None) -> Block:
        """The block that a fence closes at ``end``, or that nothing closes."""
        text = self.text[self.start : end] if end is not None else _without_last_fence(self.text[self.start :])
        if self.indent:
            text = re.sub(rf"^[ \t]{{1,{self.indent}}}", "", text, flags=re.MULTILINE)
        return Block(language=self.language, text=text, closed=end is not None)


def _language(info: str) -> str:
    words = info.strip().strip("{}").replace(",", " ").replace(":", " ").split()
    return words[0].lower().lstrip(".") if words else ""


def _without_last_fence(text: str) -> str:
    """A block that is closed at the end of its last line of text, as in ``print(1)```.``."""
    stripped = text.rstrip()
    return stripped.rstrip("`") if stripped.endswith("```") else text
