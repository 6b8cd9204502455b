"""What a model thinks, told apart from what it answers, where both stand in one text."""

from __future__ import annotations

import re
from dataclasses import dataclass

_NAMES = r"(?:think|thinking|thoughts?|reasoning|seed:think)"
_UNQUOTED = r"""(?<!["'`\\])"""
_TAG = re.compile(
    rf"""^[ \t]* (?P<opens> <{_NAMES}> | \[THINK\] | ◁think▷ | <\|begin_of_thought\|> )
    | {_UNQUOTED} (?: </{_NAMES}> | \[/THINK\] | ◁/think▷ | <\|end_of_thought\|> )
    """,
    re.VERBOSE | re.IGNORECASE | re.MULTILINE,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Thinking:
    """A text in its two parts."""

    answer: str
    """What is meant for the reader."""
    reasoning: str
    """What stood between the tags, in its order; empty where there are none."""
    unclosed: bool = False
    """Whether the text ends in the middle of a thought."""


def split_thinking(text: str) -> Thinking:
    """Tell thoughts from the answer by their tags, such as ``<think>``.

    The opening tag often stands in a model's chat template, so that only the closing one is in the text: all that
    stands before it is thought. An opening tag counts at the start of a line only, and a tag in quotes is none.

    >>> split_thinking("I try a tree. </think> Use a tree.")
    Thinking(answer='Use a tree.', reasoning='I try a tree.', unclosed=False)
    >>> split_thinking("<think>a tree, or")
    Thinking(answer='', reasoning='a tree, or', unclosed=True)
    """
    answer: list[str] = []
    thoughts: list[str] = []
    position, inside = 0, False
    for tag in _TAG.finditer(text):
        before = text[position : tag.start()]
        if tag["opens"]:
            if inside:
                continue  # a tag that is thought about
            answer.append(before)
        elif inside:
            thoughts.append(before)
        else:
            thoughts.append("".join((*answer, before)))
            answer.clear()
        inside = bool(tag["opens"])
        position = tag.end()
    (thoughts if inside else answer).append(text[position:])
    if not thoughts:
        return Thinking(answer=text, reasoning="")
    stripped = (thought.strip() for thought in thoughts)
    return Thinking(
        answer="".join(answer).strip(),
        reasoning="\n\n".join(thought for thought in stripped if thought),
        unclosed=inside,
    )
