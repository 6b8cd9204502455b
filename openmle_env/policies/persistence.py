"""One request until there is a reply: bounded repetition, waiting, settings that are refused, and every try booked."""

from __future__ import annotations

import random
import threading
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal, Never

from openmle_env.policies import failures
from openmle_env.policies.ledger import Ledger, input_tokens_of
from openmle_env.policies.limiter import Clock, Limiter
from openmle_env.policies.protocol import Reply, Request, Usage

if TYPE_CHECKING:
    from collections.abc import Callable

Setting = Literal["temperature", "seed", "schema", "max_tokens"]
DROPPABLE: tuple[Setting, ...] = ("temperature", "seed", "schema", "max_tokens")
"""Settings without which a request is still the same question."""

TRIES = 8
_FIRST_WAIT, _LONGEST_WAIT = 1.0, 60.0
"""Seconds before the second try, doubled for each further one, and the most of them."""


class Trouble(Exception):  # noqa: N818  becomes a reply or an error of `failures`; nobody outside sees it
    """A try that brought no reply."""

    def __init__(
        self,
        kind: Literal["access", "model", "quota", "request", "setting", "busy", "server", "slow"],
        said: str,
        *,
        retry_after: float | None = None,
        setting: Setting | None = None,
        charged: bool = False,
    ) -> None:
        """Say what happened.

        Args:
            kind: ``busy``: turned away for now; ``server``: failed, cut off or no reply; ``slow``: no time is left.
            said: For people, without keys.
            retry_after: Seconds that the server wants to be left alone.
            setting: For ``setting``: the one that is refused.
            charged: Whether the provider may ask money for it.
        """
        super().__init__(said)
        self.kind = kind
        self.said = said
        self.retry_after = retry_after
        self.setting = setting
        self.charged = charged


@dataclass(frozen=True, slots=True, kw_only=True)
class Sender:
    """What `Persistent` needs of a server."""

    name: str
    """Of the policy, for messages."""
    send: Callable[[Request, float], Reply]
    """Sends once; takes the seconds that are left. Raises `Trouble`."""
    cost: Callable[[int, int], float | None]
    """US dollars of so many tokens of input and of output; None if nobody knows."""


class Persistent:
    """Asks a server until there is a reply or a reason to give up. For any number of threads."""

    def __init__(
        self, sender: Sender, *, ledger: Ledger, limiter: Limiter, clock: Clock | None = None, tries: int = TRIES
    ) -> None:
        self._sender = sender
        self._ledger = ledger
        self._limiter = limiter
        self._clock = clock or Clock()
        self._tries = tries
        self._stop = threading.Event()
        self._lock = threading.Lock()
        self._refused: set[Setting] = set()

    def close(self) -> None:
        """End what waits."""
        self._stop.set()

    def ask(self, request: Request) -> Reply:
        """The reply, with all tries counted.

        Raises:
            ModelError: See `openmle_env.policies.failures`.
        """
        start = self._clock.now()
        deadline = start + request.seconds
        tries, waited, empty = 0, 0.0, False
        usages: list[Usage] = []
        failed: Trouble | None
        while True:
            with self._lock:
                dropped = tuple(name for name in DROPPABLE if name in self._refused and _is_set(request, name))
            asked = self._clock.now()
            with self._limiter.slot(deadline, self._stop) as free:
                now = self._clock.now()
                waited += now - asked
                if self._stop.is_set():
                    raise failures.ClosedError(f"{self._sender.name} was closed while a request waited.")
                if not free or now >= deadline:
                    self._late(request, tries, "every place was taken, or the server wanted to be left alone")
                tries += 1
                try:
                    reply = self._try(_without(request, dropped), deadline - now, usages)
                    failed = None
                except Trouble as trouble:
                    failed = trouble
            if failed is None:
                if reply.text or reply.reasoning or reply.tool_calls or reply.finish in {"length", "refused"} or empty:
                    return replace(
                        reply,
                        usage=_together(usages),
                        tries=tries,
                        dropped=dropped,
                        waited=waited,
                        seconds=self._clock.now() - start,
                    )
                empty = True  # once more: the reply that follows counts, empty or not
                continue
            if failed.setting and self._drop(failed.setting, dropped):
                continue
            waited += self._wait(failed, request, tries, deadline)

    def _try(self, request: Request, seconds: float, usages: list[Usage]) -> Reply:
        """One try, booked; what it took is added to ``usages``."""
        tokens = input_tokens_of(request), self._ledger.typical_output(request.max_tokens)
        supposed = Usage(
            input_tokens=tokens[0], output_tokens=tokens[1], estimated=True, cost=self._sender.cost(*tokens)
        )
        booking = self._ledger.book(supposed)
        usage: Usage | None = supposed
        try:
            reply = self._sender.send(request, seconds)
            usage = reply.usage
        except Trouble as trouble:
            usage = supposed if trouble.charged else None
            raise
        finally:  # whatever happened, Ctrl-C included, it was sent
            self._ledger.settle(booking, usage)
            usages += [usage] if usage is not None else []
        return reply

    def _drop(self, setting: Setting, dropped: tuple[Setting, ...]) -> bool:
        """Leave the setting out from now on; False if it was left out already."""
        with self._lock:
            self._refused.add(setting)
        return setting not in dropped

    def _wait(self, trouble: Trouble, request: Request, tries: int, deadline: float) -> float:
        """Wait before the next try, or give up; returns the seconds."""
        if trouble.kind not in {"busy", "server"}:
            self._give_up(trouble, request, tries)
        backoff = min(_LONGEST_WAIT, _FIRST_WAIT * 2 ** (tries - 1)) * random.uniform(0.5, 1.0)  # noqa: S311
        seconds = max(backoff, trouble.retry_after or 0.0)
        start = self._clock.now()
        if tries >= self._tries or start + seconds >= deadline:
            self._give_up(trouble, request, tries)
        if trouble.retry_after is not None:
            self._limiter.pause(trouble.retry_after)
        if self._clock.wait(seconds, self._stop):
            raise failures.ClosedError(f"{self._sender.name} was closed while a request waited.")
        return self._clock.now() - start

    def _give_up(self, trouble: Trouble, request: Request, tries: int) -> Never:
        if trouble.kind == "slow":
            self._late(request, tries, trouble.said)
        kinds = {
            "access": failures.AccessError,
            "model": failures.UnknownModelError,
            "quota": failures.QuotaError,
            "request": failures.RequestRefusedError,
            "setting": failures.RequestRefusedError,
        }
        kind = kinds.get(trouble.kind, failures.ServerError)
        wish = f" It wants to be left alone for {trouble.retry_after:g} s." if trouble.retry_after else ""
        often = f" (tried {tries} times)" if tries > 1 else ""
        raise kind(f"{self._sender.name}: {trouble.said}{wish}{often}")

    def _late(self, request: Request, tries: int, why: str) -> Never:
        raise failures.TooLateError(
            f"{self._sender.name}: no reply within {request.seconds:g} s ({why}; sent {tries} times). "
            "Give it more time, or look whether the server works."
        )


def _is_set(request: Request, setting: Setting) -> bool:
    return getattr(request, setting) is not None


def _without(request: Request, dropped: tuple[Setting, ...]) -> Request:
    return replace(request, **dict.fromkeys(dropped)) if dropped else request  # type: ignore[arg-type]  # None is valid


def _together(usages: list[Usage]) -> Usage:
    """What several replies took; not known as soon as that of one is not."""
    if len(usages) == 1:
        return usages[0]
    costs = [usage.cost for usage in usages]
    return Usage(
        input_tokens=sum(usage.input_tokens or 0 for usage in usages),
        output_tokens=sum(usage.output_tokens or 0 for usage in usages),
        estimated=any(usage.estimated for usage in usages),
        cost=None if None in costs else sum(cost for cost in costs if cost is not None),
    )
