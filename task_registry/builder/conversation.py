"""Asking a model until its answer is right, with what was wrong told each time, and not for ever."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

from openmle_env.errors import OpenMLEError
from openmle_env.policies.protocol import Message, Request
from openmle_env.task_registry.builder import prompts

if TYPE_CHECKING:
    from collections.abc import Callable

    from openmle_env.policies.protocol import Policy, Reply, Usage

    T = TypeVar("T")
else:
    T = TypeVar("T")

MAX_FAULT = 4_000
"""Characters of what was wrong that are told."""
MAX_TOKENS = 8_000
"""Of one reply that is a text or a script, thoughts included."""
SHORT_TOKENS = 3_000
"""Of one reply that is a choice, or a step on the way: a model that rambles is stopped."""
SECONDS = 600.0
"""For one reply, its repetitions included: slow servers write 20 tokens in a second."""


class WrongAnswerError(Exception):
    """What a model made is not right; the message says why, for the model."""


class GivenUpError(OpenMLEError, RuntimeError):
    """A model did not get it right in the tries that it had."""


@dataclass
class Spent:
    """What the questions of one stage have cost. What nobody says is None, never 0."""

    tries: int = 0
    model: str = ""
    input_tokens: int | None = None
    output_tokens: int | None = None
    cost: float | None = None

    def add(self, usage: Usage) -> None:
        """Count one reply."""
        self.input_tokens = _sum(self.input_tokens, usage.input_tokens)
        self.output_tokens = _sum(self.output_tokens, usage.output_tokens)
        self.cost = _sum(self.cost, usage.cost)


def ask(
    policy: Policy,
    question: str,
    check: Callable[[Reply], T],
    spent: Spent,
    *,
    tries: int,
    max_tokens: int = MAX_TOKENS,
) -> T:
    """Ask a model, and again with what was wrong, until ``check`` takes the answer.

    Args:
        policy: Who is asked.
        question: The first message.
        check: Makes something of a reply, or raises `WrongAnswerError`.
        spent: Counts what it takes.
        tries: How many answers are looked at in all.
        max_tokens: The longest answer.

    Raises:
        GivenUpError: No answer was right; the last fault stands in the message.
        PolicyError: No answer could be had.
    """
    first = Message(role="user", content=question)
    messages: tuple[Message, ...] = (first,)
    fault = ""
    spent.model = policy.name
    for _ in range(tries):
        reply = policy.ask(Request(messages=messages, max_tokens=max_tokens, seconds=SECONDS))
        spent.tries += 1
        spent.add(reply.usage)
        try:
            return check(reply)
        except WrongAnswerError as error:
            fault = prompts.shorten(str(error), MAX_FAULT)
        # Only the last answer is shown again: all of them would soon fill the model's memory.
        answer = Message(role="assistant", content=reply.text or "(empty)")
        messages = (first, answer, Message(role="user", content=prompts.fill("again", fault=fault)))
    raise GivenUpError(f"{policy.name} did not get it right in {tries} tries. The last fault: {fault}")


N = TypeVar("N", int, float)


def _sum(one: N | None, other: N | None) -> N | None:
    if one is None or other is None:
        return one if other is None else other
    return one + other
