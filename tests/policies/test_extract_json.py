"""JSON objects out of replies, strictly checked."""

from __future__ import annotations

from typing import Literal

import pytest
from pydantic import BaseModel, ConfigDict, Field

from openmle_env.policies.extraction import NoObject, extract_json
from openmle_env.policies.objects import MAX_CHARACTERS
from openmle_env.policies.protocol import Reply


class Verdict(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)

    score: float = Field(ge=0, le=5)
    kind: Literal["good", "bad"]
    tags: tuple[str, ...] = ()


GOOD = '{"score": 4.5, "kind": "good", "tags": ["a"]}'


@pytest.mark.parametrize(
    "text",
    [
        GOOD,
        f"```json\n{GOOD}\n```",
        f"The set {{1, 2}} is fine. My verdict: {GOOD} That is all.",
        f"<think>{GOOD.replace('good', 'bad')}</think>{GOOD}",
        f"{GOOD}\n\nOnce more:\n{GOOD}",
        f'{{"score": 9, "kind": "good"}}\n{GOOD}',
        GOOD.replace(" ", "\r\n"),
    ],
)
def test_the_object_is_found_whatever_stands_around_it(text: str) -> None:
    assert extract_json(text, Verdict) == Verdict(score=4.5, kind="good", tags=("a",))


@pytest.mark.parametrize(
    ("text", "reason", "said"),
    [
        ("The task is good.", "none", "no JSON object"),
        ('["score", 4]', "none", "no JSON object"),
        ('{"score": 4,', "none", "no JSON object"),
        ('{"score": "4", "kind": "good"}', "invalid", "score: Input should be a valid number, not '4'"),
        ('{"score": true, "kind": "good"}', "invalid", "score: "),
        ('{"score": 5.1, "kind": "good"}', "invalid", "less than or equal to 5, not 5.1"),
        ('{"score": NaN, "kind": "good"}', "none", "no JSON object"),
        ('{"score": 1e999, "kind": "good"}', "invalid", "score: "),
        ('{"score": 4, "kind": "fine"}', "invalid", "kind: Input should be 'good' or 'bad', not 'fine'"),
        ('{"score": 4, "kind": "good", "more": 1}', "invalid", "more: Extra inputs"),
        ('{"kind": "good"}', "invalid", "score: Field required"),
        ('{"score": 1, "score": 5, "kind": "good"}', "invalid", "'score' stands there twice"),
        (f"{GOOD} or {GOOD.replace('good', 'bad')}", "ambiguous", "2 JSON objects"),
        ('{"a":' * 100_000, "none", "no JSON object"),
        ("{" * 500_000, "none", "no JSON object"),
        (" " * (MAX_CHARACTERS + 1), "too_long", "1,000,000"),
    ],
    ids=range(16),
)
def test_anything_else_is_named(text: str, reason: str, said: str) -> None:
    found = extract_json(text, Verdict)
    assert isinstance(found, NoObject)
    assert found.reason == reason
    assert said in found.message


def test_a_cut_or_filtered_reply_is_told_from_a_wrong_one() -> None:
    cut = extract_json(Reply(text=GOOD[:20], finish="length"), Verdict)
    refused = extract_json(Reply(text="", finish="refused"), Verdict)
    assert isinstance(cut, NoObject)
    assert isinstance(refused, NoObject)
    assert (cut.reason, refused.reason) == ("truncated", "refused")
    assert isinstance(extract_json(Reply(text=GOOD, finish="length"), Verdict), Verdict)


def test_one_key_that_is_repeated_is_found_among_very_many() -> None:
    keys = "".join(f'"{number}":0,' for number in range(90_000))
    found = extract_json(f'{{{keys}"89999":1}}', Verdict)
    assert isinstance(found, NoObject)
    assert "the key '89999' stands there twice" in found.message
