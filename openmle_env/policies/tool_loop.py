"""Let a model call tools until it answers: a bounded number of calls, and its mistakes are fed back to it."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Generic, Literal, TypeVar

from pydantic import BaseModel

from openmle_env.errors import UsageError, unknown_name
from openmle_env.policies.objects import NoObject, extract_json
from openmle_env.policies.protocol import Message, Reply, Request, Tool, ToolCall

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from openmle_env.policies.protocol import Policy

CALLS = 40
RESULT_CHARACTERS = 20_000

A = TypeVar("A", bound=BaseModel)


class ToolError(Exception):
    """A tool cannot do what it is asked to; the message is fed back to the model. Raise it in a tool."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BoundTool(Generic[A]):
    """A tool and what it does."""

    name: str
    """Letters, digits, ``_`` and ``-``."""
    description: str
    """For the model."""
    arguments: type[A]
    """Model of pydantic that its arguments have to satisfy, and whose JSON schema the language model is shown."""
    call: Callable[[A], str]
    """Does it, and returns what the model is told. It may raise `ToolError`."""
    ends: bool = False
    """Whether the loop is over once this tool was called without an error."""

    @property
    def tool(self) -> Tool:
        """What the language model is shown."""
        schema = self.arguments.model_json_schema()
        return Tool(name=self.name, description=self.description, parameters=schema)


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """One call that was made or refused."""

    name: str
    """As the model wrote it."""
    arguments: str
    """As the model wrote them."""
    result: str
    """What the model was told."""
    failed: bool
    """Whether that was an error."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolLoop:
    """How a loop ended."""

    stop: Literal["ended", "answered", "calls", "length", "refused"]
    """A tool that ends it was called; text without calls; no calls are left; cut at the token limit; a filter."""
    text: str
    """The last reply's text."""
    calls: tuple[Call, ...]
    """All calls in their order, refused ones included."""
    messages: tuple[Message, ...]
    """The whole conversation."""
    replies: tuple[Reply, ...]
    """All replies, with what they took."""


def run_tools(
    policy: Policy,
    request: Request,
    tools: Sequence[BoundTool[Any]],
    *,
    calls: int = CALLS,
    result_characters: int = RESULT_CHARACTERS,
) -> ToolLoop:
    """Ask, call the tools that the model wants called, tell it the results, and ask again.

    Each call that a model asks for counts, refused ones too. When none is left, the model is told so and asked once
    more, without tools. A model or server that knows no tools may write a call as its whole answer:
    ``{"name": "read", "arguments": {"path": "a.csv"}}``.

    Args:
        policy: Who is asked.
        request: The first request; its tools are replaced by ``tools``.
        tools: What the model may call. They run in this thread, one after the other.
        calls: How many calls there may be.
        result_characters: A longer result loses its middle.

    Raises:
        PolicyError: There is no reply.
    """
    by_name = {tool.name: tool for tool in tools}
    if len(by_name) < len(tools) or calls < 1:
        raise UsageError("Tools need names that differ, and at least one call.")
    request = replace(request, tools=tuple(tool.tool for tool in tools))
    messages = list(request.messages)
    made: list[Call] = []
    replies: list[Reply] = []
    while True:
        spent = len(made) >= calls
        asked = replace(request, messages=tuple(messages), tools=() if spent else request.tools)
        reply = policy.ask(asked)
        replies.append(reply)
        messages.append(Message(role="assistant", content=reply.text, tool_calls=() if spent else reply.tool_calls))
        wanted = () if spent else reply.tool_calls or _written_call(reply, by_name)
        for call in wanted:
            if len(made) < calls:
                done = _called(call, by_name, result_characters)
                made.append(done)
            else:
                done = Call(name=call.name, arguments=call.arguments, result="No calls are left.", failed=True)
            messages.append(_told(done, call.id if reply.tool_calls else None))
            if not done.failed and by_name[call.name].ends:
                break
        stop = _stop(reply, made, by_name, spent=spent, called=bool(wanted))
        if stop:
            return ToolLoop(
                stop=stop, text=reply.text, calls=tuple(made), messages=tuple(messages), replies=tuple(replies)
            )
        if len(made) >= calls:
            messages.append(Message(role="user", content="No calls are left. Answer now, without any."))


def _stop(
    reply: Reply, made: Sequence[Call], tools: dict[str, BoundTool[Any]], *, spent: bool, called: bool
) -> Literal["ended", "answered", "calls", "length", "refused"] | None:
    """Why the loop is over after this reply; None if it is not."""
    if spent:
        return "calls"
    if called:
        last = made[-1]
        return "ended" if not last.failed and tools[last.name].ends else None
    return reply.finish if reply.finish in {"length", "refused"} else "answered"


def _called(call: ToolCall, tools: dict[str, BoundTool[Any]], most: int) -> Call:
    """Do one call, or say why not."""
    tool = tools.get(call.name)
    if tool is None:
        result, failed = f"Error: {unknown_name('tool', call.name, tools)}", True
    else:
        arguments = _arguments(call.arguments, tool.arguments)
        if isinstance(arguments, str):
            result, failed = f"Error: {arguments}", True
        else:
            try:
                result, failed = tool.call(arguments), False
            except ToolError as error:
                result, failed = f"Error: {error}", True
    return Call(name=call.name, arguments=call.arguments, result=_shortened(result, most), failed=failed)


def _arguments(text: str, model: type[A]) -> A | str:
    """The arguments, or what is wrong with them."""
    found = extract_json(text.strip() or "{}", model)
    if not isinstance(found, NoObject):
        return found
    if found.reason == "invalid":
        return found.message.replace("The JSON object is", "The arguments are")
    return "The arguments are no JSON object."


def _told(call: Call, identity: str | None) -> Message:
    if identity is not None:
        return Message(role="tool", content=call.result, tool_call_id=identity)
    return Message(role="user", content=f"Result of {call.name}:\n{call.result}")


def _shortened(text: str, most: int) -> str:
    if len(text) <= most:
        return text
    return f"{text[: most // 2]}\n[... {len(text) - most:,} characters are left out ...]\n{text[-(most // 2) :]}"


class _WrittenCall(BaseModel):
    name: str
    arguments: dict[str, Any] = {}


def _written_call(reply: Reply, tools: dict[str, BoundTool[Any]]) -> tuple[ToolCall, ...]:
    """A call that stands in the text of the reply, of a tool that exists."""
    found = extract_json(reply, _WrittenCall)
    if isinstance(found, NoObject) or found.name not in tools:
        return ()
    return (ToolCall(id="written", name=found.name, arguments=json.dumps(found.arguments)),)
