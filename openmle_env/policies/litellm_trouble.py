"""What an error of litellm means: by its status where a server gave one, and by its words where the status is vague."""

from __future__ import annotations

import re
import time
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING

from openmle_env.policies.persistence import DROPPABLE, Setting, Trouble
from openmle_env.policies.secrets import without_keys
from openmle_env.printable import printable

if TYPE_CHECKING:
    from collections.abc import Mapping

    from openmle_env.policies.protocol import Request

_MAX_SAID = 300
_QUOTA = re.compile(
    r"insufficient.?(?:quota|balance|credit|funds)|exceeded your current quota|budget.{0,20}exceeded"
    r"|exceeded.{0,20}budget|credit balance|out of credits|billing",
    re.IGNORECASE,
)
_TOO_LONG = re.compile(r"context.{0,3}(?:window|length)|too many tokens|maximum.{0,20}tokens|too long", re.IGNORECASE)
_UNREACHABLE = re.compile(r"connection error|connect|name or service|refused|unreachable|dns|ssl|certificate", re.I)
_RUBBISH = re.compile(r"invalid response|no 'choices'|invalid response object|Expecting value", re.IGNORECASE)
_WORDS: dict[Setting, re.Pattern[str]] = {
    "temperature": re.compile(r"temperature", re.IGNORECASE),
    "seed": re.compile(r"\bseed\b", re.IGNORECASE),
    "schema": re.compile(r"response_?format|json_?schema|guided|grammar|structured.output", re.IGNORECASE),
    "max_tokens": re.compile(r"max_(?:completion_)?tokens", re.IGNORECASE),
}
_TURNED_AWAY = {429, 503, 529}


def trouble_of(error: Exception, request: Request, *, url: str | None, key: str | None) -> Trouble:
    """What to do about an error of litellm.

    Args:
        error: What it raised.
        request: What was asked.
        url: Where the server is, if that was given.
        key: The key that was sent, if it was given.
    """
    status = getattr(error, "status_code", None)
    headers = _headers(error)
    raw = str(error)
    said = _worded(raw, key)
    kind = type(error).__name__
    place = f" at {without_keys(url, key)}" if url else ""
    if kind == "Timeout" and not headers:
        return Trouble("slow", f"the server{place} was silent", charged=True)
    after = _retry_after(headers) or _asked_for(raw)
    spent = _QUOTA.search(f"{raw} {getattr(error, 'body', None)}")
    if kind == "BudgetExceededError" or status == 402 or (spent and not after):
        return Trouble("quota", f"what was paid for is used up: {said} Top it up, then resume the run.")
    if status in {401, 403}:
        what = "does not accept the key" if status == 401 else "forbids it to this key"
        return Trouble("access", f"the server{place} {what} ({status}): {said} Check the key and what it may use.")
    if status == 404:
        return Trouble("model", f"the server{place} has no such model or address (404): {said} Check the model's name.")
    if status in {400, 413, 422}:
        return _refused(raw, said, status, request)
    if status in _TURNED_AWAY and headers:
        return Trouble("busy", f"the server{place} is busy ({status}): {said}", retry_after=after)
    if headers:  # a real answer of a server
        return Trouble("server", f"the server{place} failed ({status}): {said}", charged=True)
    if _RUBBISH.search(raw):
        return Trouble("server", f"the server{place} answered with something that is no reply: {said}", charged=True)
    if _UNREACHABLE.search(raw):
        return Trouble("server", f"the connection to the server{place} failed or was cut: {said}", charged=True)
    return Trouble("server", f"no reply from the server{place}: {said}", charged=True)


def _refused(raw: str, said: str, status: int, request: Request) -> Trouble:
    if _TOO_LONG.search(raw) and not re.search(r"max_(?:completion_)?tokens", raw):
        return Trouble("request", f"the request is too long for the model ({status}): {said} Send less.")
    for name in DROPPABLE:
        if getattr(request, name) is not None and _WORDS[name].search(raw):
            return Trouble("setting", f"the setting {name} is refused ({status}): {said}", setting=name)
    return Trouble("request", f"the server takes no such request ({status}): {said}")


def _headers(error: Exception) -> Mapping[str, str]:
    headers = getattr(error, "litellm_response_headers", None)
    if not headers:
        headers = getattr(getattr(error, "response", None), "headers", None)
    return {str(name).lower(): str(value) for name, value in dict(headers or {}).items()}


def _worded(raw: str, key: str | None) -> str:
    """The server's own words: without litellm's prefixes and traces, in one line, without keys."""
    text = raw.split("Traceback (most recent call last)", maxsplit=1)[0]
    text = re.sub(r"^(?:litellm\.)?(?:\w+(?:Error|Exception)\b:?(?: - )?\s*)+", "", text.replace("litellm.", ""))
    text = printable(without_keys(" ".join(text.split()), key))
    text = text if len(text) <= _MAX_SAID else f"{text[:_MAX_SAID]}..."
    return text if text.endswith((".", "!", "?")) else f"{text or 'it says nothing more'}."


def _asked_for(raw: str) -> float | None:
    """Seconds that the server's text asks for. Some call it a quota, too, what there is for one minute."""
    found = re.search(r"""(?:retry in |retryDelay["':\s]+)(\d+(?:\.\d+)?)\s*s""", raw)
    return float(found[1]) or None if found else None


def _retry_after(headers: Mapping[str, str]) -> float | None:
    """Seconds of ``Retry-After`` (RFC 9110, section 10.2.3: a number or a date); None if it says nothing of use."""
    milliseconds = headers.get("retry-after-ms", "")
    value = headers.get("retry-after", "").strip()
    try:
        if milliseconds:
            seconds = float(milliseconds) / 1000
        elif re.fullmatch(r"\d+(?:\.\d+)?", value):
            seconds = float(value)
        else:
            seconds = parsedate_to_datetime(value).timestamp() - time.time()
    except (TypeError, ValueError):
        return None
    return seconds if 0 < seconds < float("inf") else None
