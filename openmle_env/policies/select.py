"""A policy by its name, as on the command line: ``litellm:openai/gpt-4.1``, ``scripted:replies.jsonl``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from openmle_env import settings
from openmle_env.errors import UsageError, unknown_name
from openmle_env.policies.ledger import Budget, Ledger
from openmle_env.policies.models_file import Model, read

if TYPE_CHECKING:
    from openmle_env.policies.protocol import Policy

KINDS = ("litellm", "scripted")


def create(
    name: str,
    *,
    base_url: str | None = None,
    key_env: str | None = None,
    budget: Budget | None = None,
    ledger: Ledger | None = None,
) -> Policy:
    """Make the policy that a name stands for. Nothing is sent.

    What is not given here is taken from the entry of the same name in the file that ``OPENMLE_MODELS`` names, if any.

    Args:
        name: The kind, a colon and what the kind wants: ``litellm:PROVIDER/MODEL``, or ``scripted:FILE``.
        base_url: For litellm: address of a server that speaks the API of OpenAI.
        key_env: For litellm: the environment variable with the key.
        budget: Limits; none if left out.
        ledger: Instead of a budget: where the calls of several policies are booked together.

    Raises:
        UsageError: There is no such kind, its library is missing, or the limit in money could not be kept.
        PolicyError: There is no key.
    """
    if budget is not None and ledger is not None:
        raise UsageError("Give budget or ledger, not both: a ledger has its budget.")
    ledger = ledger or Ledger(budget)
    kind, colon, rest = name.partition(":")
    if not colon or kind not in KINDS:
        hint = f"Did you mean 'litellm:{name}'?" if "/" in kind or kind in {"openai", "anthropic"} else ""
        raise unknown_name("kind of model", kind, KINDS, hint=hint or "A model is named KIND:NAME.")
    if not rest:
        raise UsageError(f"{name!r} names no {'file' if kind == 'scripted' else 'model'} after the colon.")
    if kind == "scripted":
        from openmle_env.policies.scripted import ScriptedPolicy

        return ScriptedPolicy.from_file(Path(rest), ledger=ledger)
    from openmle_env.policies.litellm_policy import LitellmPolicy

    file = settings.load().models
    said = read(file).get(name, Model()) if file else Model()
    return LitellmPolicy(
        rest,
        base_url=base_url or said.base_url,
        key_env=key_env or said.key_env,
        price=said.price,
        ledger=ledger,
        parallel=said.parallel,
    )
