"""The fourth stage: a model decides what is predicted, and writes the problem for those who will compete."""

from __future__ import annotations

from typing import TYPE_CHECKING

from openmle_env.files import write_whole
from openmle_env.policies.extraction import NoObject, extract_json
from openmle_env.policies.thinking import split_thinking
from openmle_env.task_registry.builder import plan as plans
from openmle_env.task_registry.builder import prompts
from openmle_env.task_registry.builder.conversation import SHORT_TOKENS, WrongAnswerError, ask
from openmle_env.task_registry.builder.perceive import facts
from openmle_env.task_registry.builder.plan import Plan

if TYPE_CHECKING:
    from openmle_env.policies.protocol import Policy, Reply
    from openmle_env.task_registry.builder.conversation import Spent
    from openmle_env.task_registry.builder.workspace import Workspace

LEAST_TEXT, MOST_TEXT = 200, 60_000
"""Characters of a description that a competitor can work with."""


def describe(work: Workspace, policy: Policy, spent: Spent, *, tries: int) -> None:
    """Write the plan and the problem.

    Raises:
        GivenUpError: The model did not get it right.
        PolicyError: No answer could be had.
    """
    known = {"info": facts(work), "notes": work.data_notes.read_text(encoding="utf-8")}
    listing = work.listing.read_text(encoding="utf-8")
    plan = ask(
        policy,
        prompts.fill("plan", listing=listing, **known),
        lambda reply: _plan(reply, work),
        spent,
        tries=tries,
        max_tokens=SHORT_TOKENS,
    )
    question = prompts.fill(
        "describe",
        plan=plan.model_dump_json(indent=1),
        targets=prompts.quoted(plan.targets),
        columns=prompts.quoted(plan.columns),
        **known,
    )
    text = ask(policy, question, lambda reply: _problem(reply, plan), spent, tries=tries)
    plans.write(work.plan, plan)
    write_whole(work.problem, text.encode())


def _plan(reply: Reply, work: Workspace) -> Plan:
    found = extract_json(reply, Plan)
    if isinstance(found, NoObject):
        raise WrongAnswerError(found.message)
    known = {path.relative_to(work.raw).as_posix() for path in work.raw.rglob("*")}
    if missing := [name for name in found.sources if name.strip("/") not in known]:
        raise WrongAnswerError(f"There is no raw file {missing[0]!r}. Give names as they are listed.")
    return found


def _problem(reply: Reply, plan: Plan) -> str:
    if reply.finish == "length":
        raise WrongAnswerError("The text was cut at the token limit. Write a shorter one.")
    text = _unfenced(split_thinking(reply.text).answer.strip())
    if not LEAST_TEXT <= len(text) <= MOST_TEXT:
        raise WrongAnswerError(f"The description has {len(text)} characters; {LEAST_TEXT} to {MOST_TEXT:,} are wanted.")
    if missing := [name for name in plan.columns if name not in text]:
        raise WrongAnswerError(f"The description does not name the column {missing[0]!r} of a submission.")
    return text + "\n"


def _unfenced(text: str) -> str:
    """A text that stands in one fence as a whole, without the fence."""
    lines = text.splitlines()
    whole = len(lines) > 2 and lines[0].startswith("```") and lines[-1].strip() == "```"
    return "\n".join(lines[1:-1]).strip() if whole and not any(line.startswith("```") for line in lines[1:-1]) else text
