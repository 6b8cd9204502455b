"""Policies by name, scripts from files, the file of models, and keys that are hidden."""

from __future__ import annotations

import dataclasses
import json
from typing import TYPE_CHECKING

import pytest

from openmle_env.errors import UsageError
from openmle_env.policies import models_file
from openmle_env.policies.failures import LimitError, ServerError
from openmle_env.policies.ledger import Budget, Ledger, Price
from openmle_env.policies.protocol import Message, Reply, Request
from openmle_env.policies.secrets import without_keys
from openmle_env.policies.select import create

if TYPE_CHECKING:
    from pathlib import Path

ASK = Request(messages=(Message(role="user", content="Hello?"),))


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("lite:openai/gpt-4.1", "There is no kind of model 'lite'. Did you mean 'litellm'?"),
        ("openai/gpt-4.1", "Did you mean 'litellm:openai/gpt-4.1'?"),
        ("gpt", "A model is named KIND:NAME."),
        ("litellm:", "'litellm:' names no model after the colon."),
        ("scripted:", "'scripted:' names no file after the colon."),
        ("scripted:/gone/replies.jsonl", "The script '/gone/replies.jsonl' cannot be read: No such file or directory."),
    ],
)
def test_a_wrong_name_is_refused(name: str, said: str) -> None:
    with pytest.raises(UsageError) as caught:
        create(name)
    assert said in str(caught.value)


def test_a_script_from_a_file_answers_in_its_order_within_the_limits(tmp_path: Path) -> None:
    file = tmp_path / "replies.jsonl"
    whole = dataclasses.asdict(Reply(text="Two", finish="length", reasoning="Hm"))
    file.write_text(f'"One"\n\n{json.dumps(whole)}\n{{"text": "Three"}}\n')
    policy = create(f"scripted:{file}", budget=Budget(calls=5))
    replies = [policy.ask(ASK) for _ in range(3)]
    assert [(reply.text, reply.reasoning, reply.finish) for reply in replies] == [
        ("One", "", "stop"),
        ("Two", "Hm", "length"),
        ("Three", "", "stop"),
    ]
    assert replies[0].usage.cost == 0
    assert replies[0].usage.estimated
    with pytest.raises(ServerError, match="has 3 replies, and request 4 came"):
        policy.ask(ASK)
    with pytest.raises(ServerError):
        policy.ask(ASK)
    with pytest.raises(LimitError, match="limit of 5 calls"):
        policy.ask(ASK)


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("hello", "line 2 is no JSON"),
        ("3", "line 2"),
        ('{"text": "a", "txet": "b"}', "a reply has no key 'txet'"),
        ('{"finish": "stop"}', "line 2: text"),
        ('{"text": "a", "finish": "sometimes"}', "line 2: finish"),
    ],
)
def test_a_line_that_is_no_reply_is_named(line: str, said: str, tmp_path: Path) -> None:
    file = tmp_path / "replies.jsonl"
    file.write_text(f'"One"\n{line}\n')
    with pytest.raises(UsageError) as caught:
        create(f"scripted:{file}")
    assert said in str(caught.value)


def test_budget_and_ledger_exclude_one_another() -> None:
    with pytest.raises(UsageError, match="budget or ledger"):
        create("scripted:x", budget=Budget(calls=1), ledger=Ledger())


def test_the_file_of_models_says_free_and_unknown_apart(tmp_path: Path) -> None:
    file = tmp_path / "models.yaml"
    file.write_text("models:\n  litellm:a/b: {input_price: 0, output_price: 0}\n  litellm:a/c: {parallel: 2}\n")
    models = models_file.read(file)
    assert models["litellm:a/b"].price == Price(input=0, output=0)
    assert models["litellm:a/c"].price is None
    file.write_text("")
    assert models_file.read(file) == {}


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("models: {m: {input_price: 1}}", "models.m: input_price and output_price belong together"),
        ("models: {m: {input_price: '1', output_price: 1}}", "models.m.input_price: Input should be a valid number"),
        ("models: {m: {api_key: sk-secretsecret}}", "models.m.api_key: Extra inputs"),
        ("models: {m: {key_env: sk-secretsecret}}", "models.m.key_env: String should match"),
        ("models: {m: {base_url: localhost:8000}}", "models.m.base_url: String should match"),
        ("models: [", "line 1 is no YAML"),
        ("- 1", "it: Input should be"),
        ("\udcff", "cannot be read"),
    ],
)
def test_a_file_of_models_that_is_wrong_is_named_without_its_keys(text: str, said: str, tmp_path: Path) -> None:
    file = tmp_path / "models.yaml"
    file.write_bytes(text.encode(errors="surrogateescape"))
    with pytest.raises(UsageError) as caught:
        models_file.read(file)
    assert said in str(caught.value)
    assert "sk-secret" not in str(caught.value)


def test_keys_are_hidden_wherever_they_come_from(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MY_API_KEY", "correct horse battery")
    monkeypatch.setenv("SHORT_KEY", "none")
    text = (
        "given-key-1234 / correct horse battery / none / sk-proj-abc*****wxyz / Bearer abcdef / http://me:pw@host/v1 "
        "/ task-oriented"
    )
    assert without_keys(text, "given-key-1234", None) == (
        "[key] / [key] / none / [key] / Bearer [key] / http://[key]@host/v1 / task-oriented"
    )
