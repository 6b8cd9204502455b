"""What models cost: limits in money, tokens and calls that are kept here, whatever a provider enforces or not.

Each try is booked when it is sent, with what it will probably take, and corrected by what it took. A try is refused as
soon as what is booked reaches a limit, so that a limit is passed by at most one call for each worker.
"""

from __future__ import annotations

import math
import threading
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from openmle_env.errors import UsageError
from openmle_env.policies.failures import LimitError

if TYPE_CHECKING:
    from openmle_env.policies.protocol import Request, Usage

MILLION = 1_000_000
_BYTES_PER_TOKEN = 4
"""Of UTF-8, in English prose and in code; a rough figure for what a server does not count."""
_TYPICAL_OUTPUT = 1000
"""Tokens of a reply, as long as none was seen."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Price:
    """US dollars for a million tokens; 0 is free, which is not the same as unknown."""

    input: float
    """Of the messages."""
    output: float
    """Of the reply."""

    def of(self, input_tokens: int, output_tokens: int) -> float:
        """What a call costs.

        >>> Price(input=2.0, output=8.0).of(1000, 500)
        0.006
        """
        return (input_tokens * self.input + output_tokens * self.output) / MILLION


@dataclass(frozen=True, slots=True, kw_only=True)
class Budget:
    """Limits; None is without one."""

    dollars: float | None = None
    """US dollars."""
    tokens: int | None = None
    """Of messages and replies together."""
    calls: int | None = None
    """Requests that are sent, repeated ones included."""

    def __post_init__(self) -> None:
        for name in ("dollars", "tokens", "calls"):
            value = getattr(self, name)
            if value is not None and not (math.isfinite(value) and value > 0):
                raise UsageError(f"The limit {name}={value!r} should be more than 0; leave it out for none.")


@dataclass(frozen=True, slots=True, kw_only=True)
class Spending:
    """What was spent so far."""

    calls: int = 0
    """Requests that were sent."""
    input_tokens: int = 0
    output_tokens: int = 0
    known_cost: float = 0.0
    """US dollars of the calls whose cost is known."""
    unpriced_calls: int = 0
    """Calls whose cost is not known."""
    estimated_calls: int = 0
    """Calls whose tokens were counted here, or supposed because the call broke off."""

    @property
    def tokens(self) -> int:
        """Of messages and replies together."""
        return self.input_tokens + self.output_tokens

    @property
    def cost(self) -> float | None:
        """US dollars in all; None as soon as the cost of one call is not known."""
        return None if self.unpriced_calls else self.known_cost


@dataclass(frozen=True, slots=True, eq=False)
class Booking:
    """One try that is on its way."""

    usage: Usage
    """What it will probably take."""


class Ledger:
    """Books calls against a `Budget`. Policies may share one, and threads may."""

    def __init__(self, budget: Budget | None = None, *, spent: Spending | None = None) -> None:
        """Start with what was spent already, if a run is resumed."""
        self.budget = budget or Budget()
        self._lock = threading.Lock()
        self._spent = spent or Spending()
        self._on_the_way: set[Booking] = set()

    @property
    def spent(self) -> Spending:
        """What was spent so far, without what is on its way."""
        with self._lock:
            return self._spent

    def check(self, name: str, *, priced: bool) -> None:
        """Refuse a model whose cost nobody knows where money is the only thing that limits it.

        Raises:
            UsageError: That is so.
        """
        if self.budget.dollars is not None and self.budget.tokens is None and not priced:
            raise UsageError(
                f"The price of {name} is not known, so that a limit of {self.budget.dollars:g} US dollars could not "
                "be kept. Give its prices in the file that OPENMLE_MODELS names, or give a limit in tokens too."
            )

    def book(self, usage: Usage) -> Booking:
        """Book a try before it is sent.

        Raises:
            LimitError: What is spent and on its way reaches a limit already.
        """
        with self._lock:
            waiting = [booking.usage for booking in self._on_the_way]
            calls = self._spent.calls + len(waiting)
            tokens = self._spent.tokens + sum((one.input_tokens or 0) + (one.output_tokens or 0) for one in waiting)
            dollars = math.fsum([self._spent.known_cost, *(one.cost or 0.0 for one in waiting)])
            for limit, used, what in (
                (self.budget.calls, calls, "calls"),
                (self.budget.tokens, tokens, "tokens"),
                (self.budget.dollars, dollars, "US dollars"),
            ):
                if limit is not None and used >= limit:
                    raise LimitError(
                        f"The limit of {limit:,} {what} is reached: {_shown(used)} are spent or on their way. "
                        "Raise the limit to go on."
                    )
            booking = Booking(usage)
            self._on_the_way.add(booking)
            return booking

    def settle(self, booking: Booking, usage: Usage | None) -> None:
        """Correct a booking by what the try took; None if it was turned away and cost nothing."""
        with self._lock:
            if booking not in self._on_the_way:
                return  # settled before: a try is counted once
            self._on_the_way.remove(booking)
            spent = replace(self._spent, calls=self._spent.calls + 1)
            if usage is not None:
                spent = replace(
                    spent,
                    input_tokens=spent.input_tokens + (usage.input_tokens or 0),
                    output_tokens=spent.output_tokens + (usage.output_tokens or 0),
                    known_cost=math.fsum((spent.known_cost, usage.cost or 0.0)),
                    unpriced_calls=spent.unpriced_calls + (usage.cost is None),
                    estimated_calls=spent.estimated_calls + usage.estimated,
                )
            self._spent = spent

    def typical_output(self, most: int | None) -> int:
        """Tokens that a reply will probably have: as many as those before had, ``most`` at most."""
        with self._lock:
            answered = self._spent.calls
            typical = self._spent.output_tokens // answered if answered and self._spent.output_tokens else None
        if typical is None:
            typical = most or _TYPICAL_OUTPUT
        return min(typical, most) if most else typical


def _shown(used: float) -> str:
    return f"{used:,}" if isinstance(used, int) else f"{used:,.4f}"


def tokens_of(text: str) -> int:
    """About how many tokens a text has.

    >>> tokens_of("print('Hello')")
    4
    """
    return math.ceil(len(text.encode(errors="replace")) / _BYTES_PER_TOKEN)


def input_tokens_of(request: Request) -> int:
    """About how many tokens a request has."""
    texts = [message.content for message in request.messages]
    texts += [call.name + call.arguments for message in request.messages for call in message.tool_calls]
    texts += [tool.name + tool.description + repr(tool.parameters) for tool in request.tools]
    return tokens_of("".join(texts)) + 4 * len(request.messages)
