"""Models that litellm reaches: those of any provider, and those of servers that speak the API of OpenAI."""

from __future__ import annotations

import hashlib
import math
import os
import queue
import threading
from typing import TYPE_CHECKING, Any

from openmle_env.errors import UsageError
from openmle_env.policies import limiter as limiters
from openmle_env.policies.failures import AccessError
from openmle_env.policies.ledger import Ledger, Price, input_tokens_of, tokens_of
from openmle_env.policies.litellm_library import load
from openmle_env.policies.litellm_trouble import trouble_of
from openmle_env.policies.persistence import TRIES, Persistent, Sender, Trouble
from openmle_env.policies.protocol import Finish, Message, Reply, Request, ToolCall, Usage
from openmle_env.policies.secrets import without_keys
from openmle_env.policies.thinking import split_thinking

if TYPE_CHECKING:
    from collections.abc import Mapping

    from openmle_env.policies.limiter import Clock, Limiter

NO_KEY = "no-key"
"""Sent to servers of one's own, which want none: clients insist on something."""
_GRACE = 0.5
"""Seconds that the library has for noticing a time-out by itself, before it is left alone."""

_FINISHES: dict[str, Finish] = {
    "stop": "stop",
    "length": "length",
    "tool_calls": "tool_calls",
    "function_call": "tool_calls",
    "content_filter": "refused",
}


class LitellmPolicy:
    """A model by the name that litellm knows it by, such as ``openai/gpt-4.1`` or ``anthropic/claude-sonnet-4``."""

    def __init__(
        self,
        model: str,
        *,
        base_url: str | None = None,
        key_env: str | None = None,
        price: Price | None = None,
        ledger: Ledger | None = None,
        parallel: int | None = None,
        tries: int = TRIES,
        limiter: Limiter | None = None,
        clock: Clock | None = None,
    ) -> None:
        """Look whether the model can be asked; nothing is sent.

        Args:
            model: ``provider/model``.
            base_url: A server that speaks the API of OpenAI, ``http://localhost:8000/v1``; the model is then named
                ``openai/...``. No key of the environment is sent there, unless ``key_env`` names it.
            key_env: Name of the environment variable that holds the key; None leaves that to litellm.
            price: What it costs; None asks the price list of litellm, if the server is a provider's.
            ledger: Where calls are booked; None for one without limits.
            parallel: Requests at the same time, for all who use the same key at the same server in this process.
            tries: How often a request is sent at most.
            limiter: Instead of the one that this process shares.
            clock: Instead of the real one.

        Raises:
            UsageError: litellm is not installed, the name has no provider, or there is no price for a limit in money.
            AccessError: There is no key.
        """
        self.name = f"litellm:{model}"
        self.ledger = ledger or Ledger()
        self._model = model
        self._url = base_url
        self._price = price
        self._litellm = load()
        self._key = self._key_of(key_env)
        self._library_priced = not _elsewhere(model, base_url) and self._listed_cost(1000, 1000) is not None
        self.ledger.check(self.name, priced=price is not None or self._library_priced)
        secret = hashlib.sha256((self._key or "").encode()).hexdigest()
        self._persistent = Persistent(
            Sender(name=self.name, send=self._send, cost=self._cost),
            ledger=self.ledger,
            limiter=limiter or limiters.shared((base_url or model.partition("/")[0], secret), parallel),
            clock=clock,
            tries=tries,
        )

    def __repr__(self) -> str:
        place = f", base_url={without_keys(self._url, self._key)!r}" if self._url else ""
        return f"LitellmPolicy({self._model!r}{place})"

    def ask(self, request: Request) -> Reply:
        """Answer one request (see `openmle_env.policies.protocol.Policy`).

        Raises:
            ModelError: No reply could be had; its class says why (see `openmle_env.policies.failures`).
        """
        return self._persistent.ask(request)

    def close(self) -> None:
        """End the requests that wait."""
        self._persistent.close()

    def _key_of(self, key_env: str | None) -> str | None:
        """The key to send; None if litellm finds it by itself."""
        try:
            self._litellm.get_llm_provider(self._model, api_base=self._url)
        except self._litellm.exceptions.BadRequestError:
            raise UsageError(
                f"litellm knows no provider for the model {self._model!r}. Name it as provider/model, as in "
                "'litellm:openai/gpt-4.1'; for a server of your own: 'litellm:openai/NAME' with its address."
            ) from None
        if key_env is not None:
            key = os.environ.get(key_env, "").strip()
            if not key:
                raise AccessError(f"{self.name} needs a key: set the environment variable {key_env} to it.")
            return key
        if self._url is not None:
            return NO_KEY
        found = self._litellm.validate_environment(self._model)
        if not found["keys_in_environment"] and found["missing_keys"]:
            missing = " and ".join(found["missing_keys"])
            raise AccessError(f"{self.name} needs a key: set the environment variable {missing} to it.")
        return None

    def _send(self, request: Request, seconds: float) -> Reply:
        """Send once, and wait so long and no longer, even for a server that sends a byte now and then."""
        arguments = self._arguments(request, seconds)
        answers: queue.SimpleQueue[Any] = queue.SimpleQueue()

        def call() -> None:
            try:
                answers.put(self._litellm.completion(**arguments))
            except Exception as error:  # noqa: BLE001  raised again in the thread that waits
                answers.put(error)

        threading.Thread(target=call, name="openmle-model", daemon=True).start()
        try:
            answer = answers.get(timeout=seconds + _GRACE)
        except queue.Empty:
            raise Trouble("slow", "the server did not finish its reply", charged=True) from None
        if not isinstance(answer, Exception):
            return self._reply(answer, request)
        if isinstance(answer, self._litellm.exceptions.ContentPolicyViolationError):
            return Reply(text="", finish="refused", usage=Usage(input_tokens=0, output_tokens=0, cost=0.0))
        raise trouble_of(answer, request, url=self._url, key=self._key)

    def _arguments(self, request: Request, seconds: float) -> dict[str, Any]:
        arguments: dict[str, Any] = {
            "model": self._model,
            "messages": [_message(message) for message in request.messages],
            "timeout": seconds,
            "num_retries": 0,  # this layer repeats, and counts it
            "max_retries": 0,
            "drop_params": False,  # what is left out is said
        }
        optional = {
            "api_base": self._url,
            "api_key": self._key,
            "max_tokens": request.max_tokens,
            "temperature": request.temperature,
            "seed": request.seed,
            "tools": [_tool(tool.name, tool.description, tool.parameters) for tool in request.tools] or None,
            "response_format": request.schema
            and {"type": "json_schema", "json_schema": {"name": "reply", "schema": dict(request.schema)}},
        }
        return arguments | {name: value for name, value in optional.items() if value is not None}

    def _reply(self, answer: Any, request: Request) -> Reply:
        choices = getattr(answer, "choices", None)
        if not choices or getattr(choices[0], "message", None) is None:
            raise Trouble("server", "the server answered with something that is no reply: no choices.", charged=True)
        message = choices[0].message
        thinking = split_thinking(message.content if isinstance(message.content, str) else "")
        reasoning = getattr(message, "reasoning_content", None) or getattr(message, "reasoning", None)
        calls = tuple(
            ToolCall(id=call.id or f"call_{number}", name=call.function.name or "", arguments=call.function.arguments)
            for number, call in enumerate(getattr(message, "tool_calls", None) or ())
        )
        parts = [reasoning] if isinstance(reasoning, str) and reasoning else []
        parts += [thinking.reasoning] if thinking.reasoning and thinking.reasoning not in parts else []
        text = thinking.answer.strip() if parts else thinking.answer
        refused = bool(getattr(message, "refusal", None))
        return Reply(
            text=text,
            reasoning="\n\n".join(parts),
            tool_calls=calls,
            finish="refused" if refused else _finish(choices[0]),
            usage=self._usage(answer, request, "".join((text, *parts, *(call.arguments for call in calls)))),
            model=str(getattr(answer, "model", None) or ""),
        )

    def _usage(self, answer: Any, request: Request, written: str) -> Usage:
        usage = getattr(answer, "usage", None)
        prompt, output, total = (_count(usage, f"{name}_tokens") for name in ("prompt", "completion", "total"))
        estimated = not prompt or (not output and bool(written))
        if estimated:
            prompt, output = prompt or input_tokens_of(request), output or tokens_of(written)
        elif total > prompt + output:  # thinking that is left out of the count
            output = total - prompt
        billed = getattr(usage, "cost", None)
        cost = self._cost(prompt, output)
        if self._price is None and isinstance(billed, int | float) and math.isfinite(billed) and billed > 0:
            cost = float(billed)
        elif self._price is None and self._library_priced and not estimated:
            cost = self._listed_cost_of(answer, cost)
        return Usage(input_tokens=prompt, output_tokens=output, estimated=estimated, cost=cost)

    def _cost(self, input_tokens: int, output_tokens: int) -> float | None:
        if self._price is not None:
            return self._price.of(input_tokens, output_tokens)
        return self._listed_cost(input_tokens, output_tokens) if self._library_priced else None

    def _listed_cost(self, input_tokens: int, output_tokens: int) -> float | None:
        """By litellm's price list; None for what is not in it, or stands in it as free, which it often is not."""
        try:
            costs = self._litellm.cost_per_token(
                model=self._model, prompt_tokens=input_tokens, completion_tokens=output_tokens
            )
        except Exception:  # noqa: BLE001  it raises bare exceptions for a model that is not in its list
            return None
        return sum(costs) or None

    def _listed_cost_of(self, answer: Any, otherwise: float | None) -> float | None:
        """The same of a whole answer, with the parts that cost less or more: cached messages, long ones."""
        try:
            cost = self._litellm.completion_cost(completion_response=answer, model=self._model)
        except Exception:  # noqa: BLE001  as above
            return otherwise
        return max(float(cost), otherwise or 0.0) if _leaves_thinking_out(answer) else float(cost) or otherwise


def _elsewhere(model: str, base_url: str | None) -> bool:
    """Whether the server is not the provider's, so that its prices say nothing."""
    provider = model.partition("/")[0].upper().replace("-", "_")
    return base_url is not None or any(os.environ.get(f"{provider}_{name}") for name in ("API_BASE", "BASE_URL"))


def _leaves_thinking_out(answer: Any) -> bool:
    usage = answer.usage
    counted = _count(usage, "prompt_tokens") + _count(usage, "completion_tokens")
    return _count(usage, "total_tokens") > counted


def _finish(choice: Any) -> Finish:
    native = (getattr(choice, "provider_specific_fields", None) or {}).get("native_finish_reason")
    if native is not None and native not in _FINISHES and choice.finish_reason == "stop":
        return "unknown"  # litellm says stop for what it does not know
    return _FINISHES.get(choice.finish_reason, "unknown")


def _count(usage: Any, name: str) -> int:
    """A number of tokens; 0 where there is none, or none that can be."""
    value = getattr(usage, name, None)
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else 0


def _message(message: Message) -> dict[str, Any]:
    said: dict[str, Any] = {"role": message.role, "content": message.content}
    if message.tool_calls:
        said["tool_calls"] = [
            {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": call.arguments}}
            for call in message.tool_calls
        ]
    if message.role == "tool":
        said["tool_call_id"] = message.tool_call_id
    return said


def _tool(name: str, description: str, parameters: Mapping[str, object]) -> dict[str, Any]:
    return {
        "type": "function",
        "function": {"name": name, "description": description, "parameters": dict(parameters)},
    }
