"""What a policy is: it maps messages to text. Whoever asks for a program, a judgement or a file goes through this."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, Protocol

if TYPE_CHECKING:
    from collections.abc import Mapping

Role = Literal["system", "user", "assistant", "tool"]
Finish = Literal["stop", "length", "tool_calls", "refused", "unknown"]
"""Why a reply ended: by itself, at the token limit, to have tools called, by a filter, or nobody says."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolCall:
    """One call of a tool that a model asks for."""

    id: str
    """Names the call in the message that answers it."""
    name: str
    """The tool."""
    arguments: str
    """As the model wrote them: JSON, or not."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Message:
    """One message of a conversation."""

    role: Role
    """Who says it."""
    content: str
    """What is said."""
    tool_calls: tuple[ToolCall, ...] = ()
    """For ``assistant``: the tools that it wants called."""
    tool_call_id: str = ""
    """For ``tool``: the call that this answers."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Tool:
    """A tool that a model may ask for. Whoever sent the request calls it."""

    name: str
    """Letters, digits, ``_`` and ``-``."""
    description: str
    """For the model."""
    parameters: Mapping[str, object]
    """JSON schema of the arguments, an object."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """One question to a policy."""

    messages: tuple[Message, ...]
    """The conversation so far."""
    tools: tuple[Tool, ...] = ()
    """Tools that the reply may ask for."""
    schema: Mapping[str, object] | None = None
    """JSON schema that the text has to satisfy, passed on to servers that know such a thing. Check the reply still."""
    max_tokens: int | None = None
    """Longest reply, in tokens; None leaves it to the server."""
    temperature: float | None = None
    """None leaves it to the server."""
    seed: int | None = None
    """For servers that sample by a seed."""
    seconds: float = 300.0
    """Deadline of the whole request, its repetitions and waiting included."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    """What a reply took. What is not known is None, never 0."""

    input_tokens: int | None = None
    """Tokens of the messages."""
    output_tokens: int | None = None
    """Tokens of the reply, reasoning included."""
    estimated: bool = False
    """Whether the tokens were counted here, since the server did not say."""
    cost: float | None = None
    """US dollars."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """What a policy answers."""

    text: str
    """Its answer, without reasoning; empty where there is none."""
    reasoning: str = ""
    """What it thought, where that can be told from the answer."""
    tool_calls: tuple[ToolCall, ...] = ()
    """Tools that it wants called."""
    finish: Finish = "stop"
    """Why it ended."""
    usage: Usage = Usage()
    """What it took, all tries together."""
    model: str = ""
    """Who answered, as the server says."""
    tries: int = 1
    """How often the server was asked."""
    dropped: tuple[str, ...] = ()
    """Settings that the server refused, so that they were left out."""
    seconds: float = 0.0
    """From the request to the reply."""
    waited: float = 0.0
    """Of these, the seconds that passed before and between the tries: that is not the model's time."""


class Policy(Protocol):
    """Maps messages to text. It may be asked by several threads at the same time."""

    name: str
    """For records: ``litellm:openai/gpt-4.1``, ``scripted``."""

    def ask(self, request: Request) -> Reply:
        """Answer one request.

        Raises:
            PolicyError: No reply could be had: key, model, budget, server or deadline. Its message says which, and
                so does its class (see `openmle_env.policies.failures`).
        """

    def close(self) -> None:
        """Give back what the policy holds; may be called twice."""
