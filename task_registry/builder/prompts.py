"""What models are asked, as text files beside this module, with ``{names}`` that are filled in."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

FOLDER = Path(__file__).with_name("prompts")
MAX_PART = 24_000
"""Characters of each text that is filled in; the middle of a longer one is left out."""

Name = Literal["perceive", "plan", "describe", "prepare", "metric", "metric_script", "again"]


def fill(name: Name, **parts: object) -> str:
    """A prompt with all its parts; each is cut to `MAX_PART` characters, which the text then says."""
    text = (FOLDER / f"{name}.md").read_text(encoding="utf-8")
    return text.format(**{key: shorten(str(value)) for key, value in parts.items()})


def shorten(text: str, limit: int = MAX_PART) -> str:
    r"""The text with its middle left out, if it is longer than ``limit`` characters.

    >>> shorten("a" * 100, 10)
    'aaaaa\n[90 characters are left out here]\naaaaa'
    """
    if len(text) <= limit:
        return text
    half = limit // 2
    return f"{text[:half]}\n[{len(text) - 2 * half} characters are left out here]\n{text[len(text) - half :]}"


def quoted(names: tuple[str, ...] | list[str]) -> str:
    """Names for a sentence.

    >>> quoted(("a", "b", "c"))
    '`a`, `b` and `c`'
    """
    marked = [f"`{name}`" for name in names]
    return marked[0] if len(marked) == 1 else f"{', '.join(marked[:-1])} and {marked[-1]}"
