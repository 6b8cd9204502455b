"""The real library litellm against a server on loopback that does wrong what servers do wrong."""

from __future__ import annotations

import contextlib
import io
import json
import os
import pickle
import threading
from typing import TYPE_CHECKING, Any

import pytest

from openmle_env.errors import UsageError
from openmle_env.policies import failures
from openmle_env.policies.ledger import Budget, Ledger, Price, Spending
from openmle_env.policies.limiter import Limiter
from openmle_env.policies.litellm_library import load
from openmle_env.policies.litellm_policy import LitellmPolicy
from openmle_env.policies.protocol import Message, Reply, Request, Tool, ToolCall, Usage
from openmle_env.policies.select import create
from tests.policies.standin import CUT, DRIP, HANG, NO_JSON, Answer, Standin, fail, say, tokens
from tests.policies.test_persistence import Now

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

KEY = "sk-verysecret1234567890"
NAME = "litellm:openai/tiny"
HELLO = (Message(role="user", content="Hello?"),)
ASK = Request(messages=HELLO, seconds=30.0)


@pytest.fixture(scope="module", autouse=True)
def loading(unavailable: Callable[[str], None]) -> dict[str, str]:
    """What loading the library printed, and the variables that it left in the environment."""
    before, printed = dict(os.environ), io.StringIO()
    try:
        with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(printed):
            load()
    except UsageError as error:
        unavailable(str(error))
    return {"printed": printed.getvalue(), "set": str(sorted(dict(os.environ).items() - before.items()))}


@pytest.fixture(autouse=True)
def environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("OPENAI_API_BASE", "OPENAI_BASE_URL", "OPENMLE_MODELS"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("OPENAI_API_KEY", "sk-the-providers-key-0000")
    monkeypatch.setenv("TINY_KEY", KEY)


def policy(server: Standin, **options: Any) -> LitellmPolicy:
    clock = Now()
    options = {"key_env": "TINY_KEY", "limiter": Limiter(clock=clock), "clock": clock, **options}
    return LitellmPolicy("openai/tiny", base_url=server.url, **options)


def ask(*replies: Any, request: Request = ASK, **options: Any) -> Reply:
    with Standin(*replies) as server:
        return policy(server, **options).ask(request)


# --- what is sent -----------------------------------------------------------------------------------------------------


def test_everything_that_is_asked_arrives_once() -> None:
    request = Request(
        messages=(
            *(Message(role="system", content="Be brief."), *HELLO),
            Message(role="assistant", content="", tool_calls=(ToolCall(id="c1", name="look", arguments="{}"),)),
            Message(role="tool", content="3 files", tool_call_id="c1"),
        ),
        tools=(Tool(name="look", description="Looks.", parameters={"type": "object", "properties": {}}),),
        schema={"type": "object", "properties": {}},
        max_tokens=7,
        temperature=0.5,
        seed=3,
    )
    with Standin(say("Hi", usage=tokens(30, 4))) as server:
        reply = policy(server).ask(request)
    (body,) = server.requests
    call = {"id": "c1", "type": "function", "function": {"name": "look", "arguments": "{}"}}
    assert body["messages"][2:] == [
        {"role": "assistant", "content": "", "tool_calls": [call]},
        {"role": "tool", "content": "3 files", "tool_call_id": "c1"},
    ]
    assert [tool["function"]["name"] for tool in body["tools"]] == ["look"]
    assert body["response_format"]["json_schema"]["schema"] == request.schema
    assert (body["model"], body["max_tokens"], body["temperature"], body["seed"]) == ("tiny", 7, 0.5, 3)
    assert server.headers[0]["authorization"] == f"Bearer {KEY}"
    assert (reply.text, reply.finish, reply.model, reply.tries) == ("Hi", "stop", "tiny-2026", 1)
    assert reply.usage == Usage(input_tokens=30, output_tokens=4)


def test_the_providers_key_is_not_sent_to_a_server_of_ones_own() -> None:
    with Standin(say("Hi")) as server:
        create(NAME, base_url=server.url).ask(ASK)
    assert server.headers[0]["authorization"] == "Bearer no-key"


# --- what comes back --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("answer", "text", "reasoning", "finish"),
    [
        (say("Yes", reasoning_content="Hm"), "Yes", "Hm", "stop"),
        (say(None, reasoning="Hm"), "", "Hm", "stop"),
        (say("<think>Hm</think>\n\nYes"), "Yes", "Hm", "stop"),
        (say("Hm\n</think>Yes"), "Yes", "Hm", "stop"),
        (say("<think>Hm", finish="length"), "", "Hm", "length"),
        (say("Yes", finish="eos"), "Yes", "", "unknown"),
        (say(None, finish="content_filter"), "", "", "refused"),
        (say(None, refusal="No."), "", "", "refused"),
    ],
)
def test_text_and_thoughts_are_told_apart(answer: Answer, text: str, reasoning: str, finish: str) -> None:
    reply = ask(answer)
    assert (reply.text, reply.reasoning, reply.finish) == (text, reasoning, finish)


def test_tool_calls_come_as_they_were_written() -> None:
    reply = ask(say(None, finish="tool_calls", tool_calls=[("c1", "look", '{"path": '), ("", "save", "{}")]))
    assert reply.tool_calls == (
        ToolCall(id="c1", name="look", arguments='{"path": '),
        ToolCall(id=reply.tool_calls[1].id, name="save", arguments="{}"),
    )
    assert (reply.text, reply.finish) == ("", "tool_calls")


def test_what_was_used_is_known_or_estimated_and_never_zero() -> None:
    price = Price(input=1.0, output=2.0)
    told = ask(say("Yes", usage=tokens(1000, 500)), price=price).usage
    assert told == Usage(input_tokens=1000, output_tokens=500, cost=0.002)
    thinking = ask(say("Yes", usage=tokens(1000, 500) | {"total_tokens": 2000})).usage
    assert thinking == Usage(input_tokens=1000, output_tokens=1000)
    silent = ask(say("Yes" * 40), price=price).usage
    assert silent == Usage(input_tokens=6, output_tokens=30, estimated=True, cost=6.6e-05)
    assert ask(say("Yes", usage=tokens(10, 5, cost=0.25))).usage.cost == 0.25


def test_a_providers_model_has_the_price_of_the_list_and_a_server_of_ones_own_none() -> None:
    ledger = Ledger(Budget(dollars=1.0))
    known = create("litellm:openai/gpt-4.1", ledger=ledger)
    assert known._cost(1_000_000, 0) == pytest.approx(2.0)  # type: ignore[attr-defined]
    with pytest.raises(UsageError, match=r"price of litellm:openai/gpt-4\.1 is not known"):
        create("litellm:openai/gpt-4.1", base_url="http://localhost:1/v1", ledger=ledger)
    with pytest.raises(UsageError, match="price of litellm:openai/never-heard-of is not known"):
        create("litellm:openai/never-heard-of", budget=Budget(dollars=1.0))


def test_prices_and_addresses_come_from_the_file_of_models(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "models.yaml"
    monkeypatch.setenv("OPENMLE_MODELS", str(file))
    with Standin(say("Yes", usage=tokens(1000, 500))) as server:
        entry = {"base_url": server.url, "key_env": "TINY_KEY", "input_price": 0, "output_price": 4.0}
        file.write_text(json.dumps({"models": {NAME: entry}}))
        assert create(NAME, budget=Budget(dollars=1.0)).ask(ASK).usage.cost == 0.002
    assert server.headers[0]["authorization"] == f"Bearer {KEY}"


# --- what goes wrong --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("answer", "error", "said", "sent", "booked"),
    [
        (fail(401, f"Incorrect API key: {KEY}"), failures.AccessError, "does not accept the key (401)", 1, 0),
        (fail(403, "Not yours."), failures.AccessError, "forbids it to this key (403): Not yours.", 1, 0),
        (fail(404, "No model tiny."), failures.UnknownModelError, "no such model or address (404): No model", 1, 0),
        (fail(402, "Pay."), failures.QuotaError, "what was paid for is used up: Pay.", 1, 0),
        (fail(429, "Look.", code="insufficient_quota"), failures.QuotaError, "is used up: Look.", 1, 0),
        (fail(429, "You exceeded your current quota. Please retry in 2.5s."), failures.ServerError, "for 2.5 s", 3, 0),
        (fail(429, "You exceeded your current quota"), failures.QuotaError, "You exceeded your current quota.", 1, 0),
        (fail(429, "Budget has been exceeded! Max: 1"), failures.QuotaError, "Budget has been exceeded!", 1, 0),
        (fail(400, "Odd."), failures.RequestRefusedError, "no such request (400): Odd.", 1, 0),
        (fail(400, "maximum context length is 8 tokens"), failures.RequestRefusedError, "too long for the model", 1, 0),
        (fail(429, "Slow down.", retry_after=2), failures.ServerError, "(429): Slow down. It wants to be", 3, 0),
        (fail(500, "Oops."), failures.ServerError, "failed (500): Oops. (tried 3 times)", 3, 3),
        (fail(503, "Later."), failures.ServerError, "busy (503): Later. (tried 3 times)", 3, 0),
        (CUT, failures.ServerError, "failed or was cut", 3, 3),
        (NO_JSON, failures.ServerError, "something that is no reply: ", 3, 3),
        (Answer(body=b'{"choices": []}'), failures.ServerError, "something that is no reply: no choices.", 3, 3),
        (Answer(body=b""), failures.ServerError, "something that is no reply: ", 3, 3),
    ],
)
def test_each_failure_is_named(
    answer: Answer, error: type[failures.ModelError], said: str, sent: int, booked: int
) -> None:
    ledger = Ledger()
    with Standin(answer) as server, pytest.raises(error) as caught:
        policy(server, tries=3, ledger=ledger).ask(Request(messages=HELLO, seconds=1000.0))
    message = str(caught.value)
    assert said in message
    assert message.startswith("litellm:openai/tiny: ")
    assert KEY not in message
    assert "Traceback" not in message
    assert len(server.requests) == sent == ledger.spent.calls
    assert ledger.spent.estimated_calls == booked
    assert str(pickle.loads(pickle.dumps(caught.value))) == message  # noqa: S301  ours


@pytest.mark.parametrize("answer", [HANG, DRIP], ids=["silent", "a byte now and then"])
def test_a_server_that_never_ends_is_left_at_the_deadline(answer: Answer) -> None:
    with Standin(answer) as server, pytest.raises(failures.TooLateError, match=r"no reply within 0\.3 s"):
        policy(server).ask(Request(messages=HELLO, seconds=0.3))


def test_nobody_there_is_said() -> None:
    with Standin(say("")) as server:
        gone = server.url
    clock = Now()
    nobody = LitellmPolicy("openai/tiny", base_url=gone, tries=2, clock=clock, limiter=Limiter(clock=clock))
    with pytest.raises(failures.ServerError, match=rf"the connection to the server at {gone} failed"):
        nobody.ask(ASK)


def test_settings_that_a_model_refuses_are_left_out_once() -> None:
    refused = fail(400, "Unsupported value: 'temperature' does not support 0.5 with this model.", param="temperature")
    with Standin(refused, say("Yes")) as server:
        model = policy(server)
        first = model.ask(Request(messages=HELLO, temperature=0.5, seed=1))
        second = model.ask(Request(messages=HELLO, temperature=0.5, seed=1))
    assert (first.dropped, first.tries, second.dropped, second.tries) == (("temperature",), 2, ("temperature",), 1)
    assert ["temperature" in body for body in server.requests] == [True, False, False]
    assert all(body["seed"] == 1 for body in server.requests)


def test_a_setting_that_the_library_itself_refuses_is_left_out_too() -> None:
    with Standin(say("Yes")) as server:
        model = LitellmPolicy("openai/o1", base_url=server.url)
        assert model.ask(Request(messages=HELLO, temperature=0.5)).dropped == ("temperature",)


def test_no_more_requests_go_out_at_a_time_than_are_allowed() -> None:
    free = threading.Event()

    def slow(_: dict[str, Any]) -> Answer:
        free.wait(10)
        return say("Yes")

    with Standin(slow) as server:
        model = policy(server, limiter=Limiter(2), clock=None)
        workers = [threading.Thread(target=model.ask, args=(ASK,)) for _ in range(5)]
        for worker in workers:
            worker.start()
        server.arrived.acquire(timeout=10)
        server.arrived.acquire(timeout=10)
        free.set()
        for worker in workers:
            worker.join(20)
    assert (len(server.requests), server.most_running) == (5, 2)


# --- names and keys ---------------------------------------------------------------------------------------------------


def test_a_missing_key_is_named_before_anything_is_sent(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY")
    with pytest.raises(failures.AccessError, match="set the environment variable OPENAI_API_KEY"):
        create("litellm:openai/gpt-4.1")
    with pytest.raises(failures.AccessError, match="set the environment variable MY_KEY"):
        create("litellm:openai/gpt-4.1", key_env="MY_KEY")


def test_a_model_without_a_provider_is_refused() -> None:
    with pytest.raises(UsageError, match="knows no provider for the model 'tiny'"):
        create("litellm:tiny")


def test_the_key_is_in_no_representation() -> None:
    with Standin(say("")) as server:
        model = policy(server)
    assert KEY not in repr(model) + repr(model.ledger) + str(vars(model).get("_url"))
    assert Spending() == model.ledger.spent


def test_loading_prints_nothing_and_leaves_the_environment_alone(loading: dict[str, str]) -> None:
    assert loading == {"printed": "", "set": "[]"}
