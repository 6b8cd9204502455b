"""JSON objects out of what a model answered, checked against a model of pydantic."""

from __future__ import annotations

import json
import re
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeVar

from pydantic import BaseModel, ValidationError

from openmle_env.policies.protocol import Reply
from openmle_env.policies.thinking import split_thinking

if TYPE_CHECKING:
    from collections.abc import Iterator

MAX_CHARACTERS = 1_000_000
"""More than any reply has that is worth reading."""
_MAX_STARTS = 200
"""How many braces are tried as the start of an object."""
_MAX_FAULTS = 8

T = TypeVar("T", bound=BaseModel)


@dataclass(frozen=True, slots=True, kw_only=True)
class NoObject:
    """Why a reply has no object of the wanted kind."""

    reason: Literal["none", "truncated", "invalid", "ambiguous", "refused", "too_long"]
    """No JSON; cut at the token limit; not of the wanted kind; several that differ; a filter; too much to look at."""
    message: str
    """The same for whoever asks again, with each key that is wrong."""


def extract_json(reply: Reply | str, model: type[T]) -> T | NoObject:
    """Find the one JSON object of a reply that ``model`` accepts; fences and prose around it do not matter.

    Thoughts are no source of it. Repeated keys, NaN and infinity are refused. Several objects that the model accepts
    have to be equal, since nobody could say which of them was meant.

    Args:
        reply: What was answered; a plain text is one that ended by itself.
        model: Says what is accepted. Whether it is strict is its own affair.
    """
    if isinstance(reply, str):
        reply = Reply(text=reply)
    if len(reply.text) > MAX_CHARACTERS:
        return NoObject(reason="too_long", message=f"The reply has more than {MAX_CHARACTERS:,} characters.")
    accepted: list[T] = []
    fault = ""
    for text in _objects(split_thinking(reply.text).answer):
        value = _checked(text, model)
        if isinstance(value, str):
            fault = value
        elif value not in accepted:
            accepted.append(value)
    if len(accepted) == 1:
        return accepted[0]
    if accepted:
        return NoObject(
            reason="ambiguous",
            message=f"The reply holds {len(accepted)} JSON objects of the right form that differ: write exactly one.",
        )
    return _none_of(reply, fault)


def _checked(text: str, model: type[T]) -> T | str:
    """The value, or what is wrong with it."""
    try:
        json.loads(text, object_pairs_hook=_unique)  # pydantic takes the last of repeated keys
        return model.model_validate_json(text)
    except ValidationError as error:
        return _faults(error)
    except (ValueError, RecursionError) as error:
        return str(error)


def _none_of(reply: Reply, fault: str) -> NoObject:
    if reply.finish == "length":
        return NoObject(reason="truncated", message="The reply ended at the token limit before its object was whole.")
    if reply.finish == "refused":
        return NoObject(reason="refused", message="The reply was withheld by a filter, or the model refused.")
    if fault:
        return NoObject(reason="invalid", message=f"The JSON object is not of the right form: {fault}.")
    return NoObject(reason="none", message="The reply holds no JSON object: write exactly one, and nothing else.")


def _objects(text: str) -> Iterator[str]:
    """Every outermost object, as it is written."""
    decoder = json.JSONDecoder(parse_constant=_no_constant)
    position = tries = 0
    while tries < _MAX_STARTS and (start := text.find("{", position)) >= 0:
        tries += 1
        try:
            _, position = decoder.raw_decode(text, start)
        except (ValueError, RecursionError):  # no JSON, or nested too deeply
            position = start + 1
        else:
            yield text[start:position]


def _no_constant(name: str) -> float:
    raise ValueError(f"{name} is no number")


def _unique(pairs: list[tuple[str, object]]) -> dict[str, object]:
    found = dict(pairs)
    if len(found) < len(pairs):
        counts = Counter(name for name, _ in pairs)
        raise ValueError(f"the key {next(name for name in counts if counts[name] > 1)!r} stands there twice")
    return found


def _faults(error: ValidationError) -> str:
    """Each fault with its place: ``issues.0.severity: Input should be 'low', 'medium' or 'high', not 'dire'``."""
    said = []
    for one in error.errors(include_url=False)[:_MAX_FAULTS]:
        place = ".".join(map(str, one["loc"]))
        value = re.sub(r"\s+", " ", repr(one["input"]))
        value = value if len(value) <= 60 else f"{value[:60]}..."
        known = "" if one["type"] in {"missing", "value_error"} or not place else f", not {value}"
        said.append(f"{place or 'object'}: {one['msg'].removeprefix('Value error, ')}{known}")
    return "; ".join(said)
