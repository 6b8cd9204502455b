"""Repetition, waiting, dropped settings and booking, with a clock of the test's own and a server that is a function."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

import pytest

from openmle_env.policies import failures
from openmle_env.policies.ledger import Budget, Ledger, Price, Spending, input_tokens_of
from openmle_env.policies.limiter import Clock, Limiter, shared
from openmle_env.policies.persistence import Persistent, Sender, Trouble
from openmle_env.policies.protocol import Message, Reply, Request, Usage

if TYPE_CHECKING:
    from collections.abc import Callable

ASK = Request(messages=(Message(role="user", content="Write a program."),), seconds=100.0)
PRICE = Price(input=1.0, output=2.0)
GOOD = Reply(text="Yes.", usage=Usage(input_tokens=1000, output_tokens=500, cost=0.002))
BUSY = Trouble("busy", "busy (429).", retry_after=30.0)
BROKEN = Trouble("server", "failed (500).", charged=True)


class Now(Clock):
    """Waiting takes no time."""

    def __init__(self) -> None:
        self.time = 0.0
        self.waits: list[float] = []

    def now(self) -> float:
        return self.time

    def wait(self, seconds: float, stop: threading.Event) -> bool:
        self.waits.append(seconds)
        self.time += seconds
        return stop.is_set()


class Server:
    """Answers with the next of the script, and the last of it from then on."""

    def __init__(self, *script: Reply | Trouble, ledger: Ledger | None = None, priced: bool = True) -> None:
        self.script = list(script)
        self.clock = Now()
        self.requests: list[Request] = []
        self.ledger = ledger or Ledger()
        self.limiter = Limiter(clock=self.clock)
        cost: Callable[[int, int], float | None] = PRICE.of if priced else lambda *_: None
        sender = Sender(name="litellm:openai/tiny", send=self.send, cost=cost)
        self.asker = Persistent(sender, ledger=self.ledger, limiter=self.limiter, clock=self.clock)

    def send(self, request: Request, seconds: float) -> Reply:
        self.requests.append(request)
        answer = self.script.pop(0) if len(self.script) > 1 else self.script[0]
        if isinstance(answer, Trouble):
            raise answer
        return answer

    def ask(self, **changes: object) -> Reply:
        return self.asker.ask(Request(messages=ASK.messages, **{"seconds": 100.0, **changes}))  # type: ignore[arg-type]


def test_a_server_that_wants_to_be_left_alone_is() -> None:
    server = Server(BUSY, GOOD)
    reply = server.ask()
    assert (reply.text, reply.tries) == ("Yes.", 2)
    assert server.clock.now() >= 30.0
    assert reply.waited == reply.seconds == server.clock.now()
    assert server.ledger.spent == Spending(calls=2, input_tokens=1000, output_tokens=500, known_cost=0.002)


def test_a_wait_past_the_deadline_is_not_begun() -> None:
    server = Server(BUSY)
    with pytest.raises(failures.ServerError, match=r"busy \(429\)\. It wants to be left alone for 30 s\."):
        server.ask(seconds=20.0)
    assert not server.clock.waits


def test_a_pause_that_one_request_was_told_of_holds_for_all_who_share_the_limiter() -> None:
    first, second = Server(BUSY, GOOD), Server(GOOD)
    second.asker = Persistent(
        Sender(name="other", send=second.send, cost=PRICE.of),
        ledger=second.ledger,
        limiter=first.limiter,
        clock=first.clock,
    )
    first.limiter.pause(30.0)
    assert second.ask().waited >= 30.0
    assert shared(("server", "key")) is shared(("server", "key"))
    assert shared(("server", "key")) is not shared(("server", "other key"))


def test_the_waits_grow_and_the_tries_end() -> None:
    server = Server(BROKEN)
    with pytest.raises(failures.ServerError, match=r"failed \(500\)\. \(tried 8 times\)"):
        server.ask(seconds=1000.0)
    assert len(server.requests) == 8
    assert len(server.clock.waits) == 7
    assert all(2**n / 2 <= wait <= 2**n for n, wait in enumerate(server.clock.waits) if 2**n < 60)
    assert server.clock.waits[-1] <= 60


@pytest.mark.parametrize(
    ("kind", "error", "terminal"),
    [
        ("access", failures.AccessError, True),
        ("model", failures.UnknownModelError, True),
        ("quota", failures.QuotaError, True),
        ("request", failures.RequestRefusedError, False),
        ("slow", failures.TooLateError, False),
    ],
)
def test_what_repetition_does_not_mend_is_not_repeated(
    kind: str, error: type[failures.ModelError], *, terminal: bool
) -> None:
    server = Server(Trouble(kind, "so it is."))  # type: ignore[arg-type]
    with pytest.raises(error, match=r"litellm:openai/tiny.*so it is"):
        server.ask()
    assert len(server.requests) == 1
    assert error.terminal is terminal


def test_a_refused_setting_is_left_out_once_and_for_all_and_said() -> None:
    server = Server(
        Trouble("setting", "no temperature.", setting="temperature"), Trouble("setting", "no.", setting="seed"), GOOD
    )
    reply = server.ask(temperature=0.7, seed=3)
    assert (reply.dropped, reply.tries) == (("temperature", "seed"), 3)
    assert [(one.temperature, one.seed) for one in server.requests] == [(0.7, 3), (None, 3), (None, None)]
    again = server.ask(temperature=0.5)
    assert (again.dropped, again.tries) == (("temperature",), 1)
    assert not server.ask().dropped
    assert not server.clock.waits


def test_a_setting_that_is_refused_after_it_was_left_out_ends_it() -> None:
    server = Server(Trouble("setting", "no temperature.", setting="temperature"))
    with pytest.raises(failures.RequestRefusedError, match="no temperature"):
        server.ask(temperature=0.7)
    assert len(server.requests) == 2


def test_an_empty_reply_is_asked_for_once_more_and_both_are_paid() -> None:
    empty = Reply(text="", usage=Usage(input_tokens=10, output_tokens=1, cost=0.5))
    reply = Server(empty).ask()
    assert (reply.text, reply.tries) == ("", 2)
    assert reply.usage == Usage(input_tokens=20, output_tokens=2, cost=1.0)
    thought = Server(Reply(text="", reasoning="Hm."), GOOD).ask()
    assert (thought.reasoning, thought.tries) == ("Hm.", 1)
    assert Server(Reply(text="", finish="length"), GOOD).ask().tries == 1


def test_a_closed_policy_asks_no_more() -> None:
    server = Server(BUSY)
    server.asker.close()
    server.asker.close()
    with pytest.raises(failures.ClosedError):
        server.ask()
    assert not server.requests


# --- the ledger -------------------------------------------------------------------------------------------------------


def test_failed_tries_that_may_be_billed_are_booked() -> None:
    prompt = input_tokens_of(ASK)
    first = Reply(text="Yes.", usage=Usage(input_tokens=prompt, output_tokens=500, cost=PRICE.of(prompt, 500)))
    server = Server(first, BROKEN, BROKEN, BROKEN, first)
    server.ask()
    reply = server.ask()
    bill = PRICE.of(5 * prompt, 5 * 500)
    spent = server.ledger.spent
    assert spent.cost == pytest.approx(bill, rel=0.05)
    assert (spent.calls, spent.estimated_calls, spent.unpriced_calls) == (5, 3, 0)
    assert reply.usage.cost == pytest.approx(PRICE.of(4 * prompt, 4 * 500), rel=0.05)
    assert reply.usage.estimated


def test_an_unknown_cost_is_none_and_stays_it() -> None:
    unpriced = Reply(text="Yes.", usage=Usage(input_tokens=10, output_tokens=5))
    server = Server(unpriced, priced=False)
    assert server.ask().usage.cost is None
    assert server.ledger.spent.cost is None
    assert server.ledger.spent.known_cost == 0
    assert Ledger().spent.cost == 0


def test_a_limit_in_money_needs_a_price_or_a_limit_in_tokens() -> None:
    ledger = Ledger(Budget(dollars=5))
    ledger.check("m", priced=True)
    with pytest.raises(ValueError, match="price of m is not known, so that a limit of 5 US dollars could not be kept"):
        ledger.check("m", priced=False)
    Ledger(Budget(dollars=5, tokens=1000)).check("m", priced=False)
    with pytest.raises(ValueError, match="dollars=0"):
        Budget(dollars=0)


@pytest.mark.parametrize(
    ("budget", "calls"), [(Budget(calls=3), 3), (Budget(tokens=3001), 3), (Budget(dollars=0.005), 3)]
)
def test_a_limit_is_passed_by_one_call_at_most(budget: Budget, calls: int) -> None:
    server = Server(GOOD, ledger=Ledger(budget))
    for _ in range(calls):
        server.ask()
    with pytest.raises(failures.LimitError, match="is reached"):
        server.ask()
    assert len(server.requests) == calls
    resumed = Server(GOOD, ledger=Ledger(budget, spent=server.ledger.spent))
    with pytest.raises(failures.LimitError):
        resumed.ask()


def test_many_workers_pass_a_limit_by_one_call_each_at_most() -> None:
    ledger = Ledger(Budget(calls=50, tokens=60_000))
    server = Server(GOOD, ledger=ledger)

    def work() -> None:
        while True:
            try:
                server.ask()
            except failures.LimitError:
                return

    workers = [threading.Thread(target=work) for _ in range(6)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join(30)
    assert 60_000 <= ledger.spent.tokens <= 60_000 + 6 * 1500
    assert ledger.spent.calls == len(server.requests) <= 50


def test_an_interrupted_call_is_booked_too() -> None:
    server = Server(GOOD)

    def interrupted(request: Request, seconds: float) -> Reply:
        raise KeyboardInterrupt

    asker = Persistent(
        Sender(name="x", send=interrupted, cost=PRICE.of), ledger=server.ledger, limiter=server.limiter, clock=Now()
    )
    with pytest.raises(KeyboardInterrupt):
        asker.ask(ASK)
    assert (server.ledger.spent.calls, server.ledger.spent.estimated_calls) == (1, 1)
