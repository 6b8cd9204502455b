"""A policy for tests and dry runs: no model is asked, a script says what is answered."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from pydantic import TypeAdapter, ValidationError

from openmle_env.errors import UsageError
from openmle_env.policies.failures import ServerError
from openmle_env.policies.ledger import Ledger, input_tokens_of, tokens_of
from openmle_env.policies.protocol import Reply, Request, Usage

if TYPE_CHECKING:
    from openmle_env.policies.protocol import Policy

Script = Callable[[Request], Reply | str] | Sequence[Reply | str]
"""A function from the request to the reply, or the replies one after the other."""


class ScriptedPolicy:
    """Answers from a list or a function, and keeps every request in ``requests``."""

    def __init__(self, script: Script, *, name: str = "scripted", ledger: Ledger | None = None) -> None:
        """Take the script.

        Args:
            script: Texts stand for replies that ended by themselves.
            name: For records.
            ledger: Where calls are booked: they are free, and their tokens are counted here.
        """
        self.name = name
        self.ledger = ledger or Ledger()
        self.requests: list[Request] = []
        self._script = script
        self._lock = threading.Lock()

    @classmethod
    def from_file(cls, path: Path | str, *, ledger: Ledger | None = None) -> Self:
        """Read the replies from a file of JSON lines: texts, or objects with the keys of `Reply`.

        Raises:
            UsageError: The file cannot be read, or a line is no reply.
        """
        path = Path(path)
        try:
            lines = path.read_text(encoding="utf-8").splitlines()
        except (OSError, UnicodeDecodeError) as error:
            reason = (error.strerror if isinstance(error, OSError) else None) or str(error)
            raise UsageError(f"The script {str(path)!r} cannot be read: {reason}.") from None
        replies = [_parsed(line, f"{path}, line {n}") for n, line in enumerate(lines, 1) if line.strip()]
        return cls(replies, name=f"scripted:{path.name}", ledger=ledger)

    def ask(self, request: Request) -> Reply:
        """The next reply of the script.

        Raises:
            ServerError: The script is at its end.
            LimitError: A limit of the ledger is reached.
        """
        with self._lock:
            number = len(self.requests)
            self.requests.append(request)
        tokens = input_tokens_of(request)
        booking = self.ledger.book(Usage(input_tokens=tokens, output_tokens=0, estimated=True, cost=0.0))
        usage = None
        try:
            said = self._said(request, number)
            reply = Reply(text=said) if isinstance(said, str) else said
            usage = reply.usage
            if usage == Usage():
                output = tokens_of(reply.text + reply.reasoning)
                usage = Usage(input_tokens=tokens, output_tokens=output, estimated=True, cost=0.0)
        finally:
            self.ledger.settle(booking, usage)
        return Reply(**{**_fields(reply), "usage": usage, "model": reply.model or self.name})

    def _said(self, request: Request, number: int) -> Reply | str:
        if callable(self._script):
            return self._script(request)
        if number >= len(self._script):
            raise ServerError(
                f"{self.name} has {len(self._script)} replies, and request {number + 1} came. Add one to the script."
            )
        return self._script[number]

    def close(self) -> None:
        """Nothing is held."""


def _fields(reply: Reply) -> dict[str, Any]:
    return {name: getattr(reply, name) for name in Reply.__dataclass_fields__}


def _parsed(line: str, place: str) -> Reply | str:
    try:
        value = json.loads(line)
        if isinstance(value, str):
            return value
        if isinstance(value, dict) and (strangers := value.keys() - Reply.__dataclass_fields__.keys()):
            raise UsageError(
                f"{place}: a reply has no key {min(strangers)!r}: {', '.join(Reply.__dataclass_fields__)}."
            )
        return TypeAdapter(Reply).validate_python(value)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        where = ".".join(map(str, first["loc"]))
        raise UsageError(f"{place}: {where or 'it'}: {first['msg']}. A line is a text or a reply, as JSON.") from None
    except (json.JSONDecodeError, RecursionError) as error:
        raise UsageError(f"{place} is no JSON: {error}.") from None


if TYPE_CHECKING:
    _: type[Policy] = ScriptedPolicy
