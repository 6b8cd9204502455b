"""The third stage: a model looks at the raw files through four tools and hands in its notes."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import BaseModel, ConfigDict, Field

from openmle_env.files import write_whole
from openmle_env.policies.protocol import Message, Request
from openmle_env.policies.tool_loop import BoundTool, ToolError, run_tools
from openmle_env.task_registry.builder import info, prompts, reading
from openmle_env.task_registry.builder.conversation import SECONDS, SHORT_TOKENS, GivenUpError

if TYPE_CHECKING:
    from collections.abc import Callable

    from openmle_env.policies.protocol import Policy
    from openmle_env.task_registry.builder.conversation import Spent
    from openmle_env.task_registry.builder.workspace import Workspace

MAX_CALLS = 40
"""Tools that a model may call for one data set, all of them together."""
MAX_ROUNDS = 3
"""How often it is reminded to hand in its notes where it answers with something else, the first time included."""
SUMMARIES = 3
"""How many tables are summed up before it begins."""
LEAST_NOTES, MOST_NOTES = 40, 60_000
"""Characters of notes: fewer say nothing."""

_Name = Annotated[str, Field(description="A name below the data folder, such as images/train.")]


class _Arguments(BaseModel):
    model_config = ConfigDict(extra="forbid")


class _Named(_Arguments):
    name: _Name


class _Read(_Named):
    start: Annotated[int, Field(description="The first byte to read.")] = 0


class _Save(_Arguments):
    text: Annotated[str, Field(description="The notes, in Markdown.")]


def perceive(work: Workspace, policy: Policy, spent: Spent) -> None:
    """Have a model look at the raw files and write its notes.

    Raises:
        GivenUpError: It handed in nothing.
        PolicyError: No answer could be had.
    """
    saved: list[str] = []
    tools = _tools(work, saved)
    messages: tuple[Message, ...] = (Message(role="user", content=question(work)),)
    spent.model, left, why = policy.name, MAX_CALLS, ""
    for _ in range(MAX_ROUNDS):
        request = Request(messages=messages, max_tokens=SHORT_TOKENS, seconds=SECONDS)
        done = run_tools(policy, request, tools, calls=left)
        left -= len(done.calls)
        spent.tries += len(done.replies)
        for reply in done.replies:
            spent.add(reply.usage)
        why = {"calls": "it had no calls left", "length": "its reply was cut", "refused": "it refused"}.get(
            done.stop, ""
        )
        if saved or left < 1 or done.stop == "refused":
            break
        reminder = "Your notes count only once they are handed in: call the tool `save` with them. A page is enough."
        messages = (*done.messages, Message(role="user", content=reminder))
    if not saved:
        raise GivenUpError(
            f"{policy.name} handed in no notes on the raw files ({why or 'it never called save'}; "
            f"{MAX_CALLS - left} of {MAX_CALLS} calls were used)."
        )
    write_whole(work.data_notes, saved[0].encode())


def question(work: Workspace) -> str:
    """What the model is asked."""
    return prompts.fill(
        "perceive",
        calls=MAX_CALLS,
        info=facts(work),
        listing=work.listing.read_text(encoding="utf-8"),
        summaries=summaries(work, reading.tables(work.raw)[:SUMMARIES]),
    )


def facts(work: Workspace) -> str:
    """What is known of the source, for a prompt."""
    return json.dumps(info.read(work.info), indent=1, ensure_ascii=False)


def summaries(work: Workspace, names: list[str]) -> str:
    """Summaries of some tables, for a prompt; what cannot be read says why."""
    said = []
    for name in names:
        try:
            said.append(f"{name}:\n{reading.summarise_table(work.raw, name)}")
        except reading.RefusedError as error:
            said.append(f"{name}: {error}")
    return "\n\n".join(said) or "(there are none)"


def _tools(work: Workspace, saved: list[str]) -> list[BoundTool[Any]]:
    """The four tools; what `save` takes ends up in ``saved``."""
    return [
        BoundTool(
            name="list_folder",
            description="Names, kinds and sizes of what lies in a folder; '.' is the data folder itself.",
            arguments=_Named,
            call=lambda given: _told(lambda: reading.list_folder(work.raw, given.name)),
        ),
        BoundTool(
            name="table_summary",
            description="Rows and columns of a CSV or TSV file: kinds, ranges, empty cells, values, first rows.",
            arguments=_Named,
            call=lambda given: _told(lambda: reading.summarise_table(work.raw, given.name)),
        ),
        BoundTool(
            name="read_text",
            description=f"Up to {reading.MAX_TEXT:,} characters of a text file, from a byte on.",
            arguments=_Read,
            call=lambda given: _told(lambda: reading.read_text(work.raw, given.name, given.start)),
        ),
        BoundTool(
            name="save",
            description="Hand in the notes. This ends the work.",
            arguments=_Save,
            call=lambda given: _save(given.text, saved),
            ends=True,
        ),
    ]


def _told(read: Callable[[], str]) -> str:
    try:
        return read()
    except reading.RefusedError as error:
        raise ToolError(str(error)) from None


def _save(text: str, saved: list[str]) -> str:
    if not LEAST_NOTES <= len(text.strip()) <= MOST_NOTES:
        raise ToolError(f"The notes have {len(text.strip())} characters; {LEAST_NOTES} to {MOST_NOTES:,} are taken.")
    saved[:] = [text.strip() + "\n"]
    return "Saved."
