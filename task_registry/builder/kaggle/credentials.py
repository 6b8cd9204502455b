"""The keys that Kaggle's client asks for: where they are kept, and which of its versions know which.

They are looked for in this order, which is the client's own:

1. the variable ``KAGGLE_API_TOKEN``: a token, or the path of a file that holds one
2. ``~/.kaggle/access_token``, also with ``.txt``
3. the variables ``KAGGLE_USERNAME`` and ``KAGGLE_KEY``
4. ``kaggle.json`` in ``KAGGLE_CONFIG_DIR``, ``~/.kaggle`` or ``~/.config/kaggle``
5. ``~/.kaggle/credentials.json``, left by ``kaggle auth login``

What is found goes into the environment of the client's process and nowhere else: no file of ours, no message, and
never our own environment.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from openmle_env.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Mapping

TOKEN, USER, KEY = "KAGGLE_API_TOKEN", "KAGGLE_USERNAME", "KAGGLE_KEY"
TOKENS_SINCE = (1, 8, 0)
"""The first version of the client that knows tokens; older ones know a user name with a key only."""
LOGIN_SINCE = (2, 0, 0)
"""The first version whose ``kaggle auth login`` needs no switch."""

_WHERE = (
    f"Make a token in your Kaggle settings, then set {TOKEN} to it or save it as ~/.kaggle/access_token; "
    f"{USER} with {KEY}, and ~/.kaggle/kaggle.json, are taken as well."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Credentials:
    """Keys for Kaggle. Its ``repr`` does not show them."""

    kind: Literal["token", "key", "login"]
    """A token, a user name with a key, or what the client itself saved when somebody logged in."""
    found_in: str
    """Where, for messages."""
    secrets: Mapping[str, str] = field(default_factory=dict, repr=False)
    """Variables for the environment of the client."""

    def hide(self, text: str) -> str:
        """The text without any key that stands in it."""
        for value in self.secrets.values():
            if len(value) >= 4:
                text = text.replace(value, "***")
        return text


def find(environment: Mapping[str, str]) -> Credentials:
    """Look for keys. Nothing is changed, sent or kept.

    Raises:
        UsageError: There are none, or what there is cannot be read.
    """
    home = Path(environment.get("HOME") or "~").expanduser()
    if token := environment.get(TOKEN, "").strip():
        path = Path(token)
        if len(token) < 1024 and "\0" not in token and path.is_file():
            return Credentials(kind="token", found_in=f"{TOKEN} ({path})", secrets={TOKEN: _read_token(path)})
        return Credentials(kind="token", found_in=TOKEN, secrets={TOKEN: token})
    for name in ("access_token", "access_token.txt"):
        path = home / ".kaggle" / name
        if path.is_file():
            return Credentials(kind="token", found_in=str(path), secrets={TOKEN: _read_token(path)})
    user, key = environment.get(USER, "").strip(), environment.get(KEY, "").strip()
    if user and key:
        return _user_and_key(user, key, f"{USER} and {KEY}")
    folders = [Path(folder) for folder in (environment.get("KAGGLE_CONFIG_DIR", ""),) if folder]
    config = Path(environment.get("XDG_CONFIG_HOME") or home / ".config")
    for folder in (*folders, home / ".kaggle", config / "kaggle"):
        if (path := folder / "kaggle.json").is_file():
            return _read_json(path)
    if (home / ".kaggle" / "credentials.json").is_file():
        return Credentials(kind="login", found_in="~/.kaggle/credentials.json")
    if user or key:
        missing = KEY if user else USER
        raise UsageError(f"{USER if user else KEY} is set and {missing} is not. Set both. {_WHERE}")
    raise UsageError(f"Kaggle asks who you are, and no keys were found. {_WHERE}")


def check_version(credentials: Credentials, version: str) -> None:
    """Refuse keys that a version of the client does not know, rather than have it say something else.

    Raises:
        UsageError: The client is too old.
    """
    since = {"token": TOKENS_SINCE, "login": LOGIN_SINCE}.get(credentials.kind)
    if since is not None and version_numbers(version) < since:
        needed = ".".join(str(number) for number in since)
        raise UsageError(
            f"The keys in {credentials.found_in} need Kaggle's client from version {needed} on, and version {version} "
            f"is installed. Install a newer one: pip install 'kaggle>={needed}'"
        )


def version_numbers(version: str) -> tuple[int, ...]:
    """The numbers at the start of a version, to compare.

    >>> version_numbers("1.7.4.5") < TOKENS_SINCE <= version_numbers("1.8.0rc1")
    True
    """
    return tuple(int(number) for number in re.match(r"[0-9.]*", version)[0].split(".") if number)  # type: ignore[index]  # it matches always


def _read_token(path: Path) -> str:
    token = _read(path).strip()
    if not token or len(token.split()) > 1:
        raise UsageError(f"{path} should hold one token and nothing else. {_WHERE}")
    return token


def _read_json(path: Path) -> Credentials:
    try:
        values = json.loads(_read(path))
        user, key = values["username"], values["key"]
    except (ValueError, KeyError, TypeError):
        raise UsageError(f"{path} should hold a 'username' and a 'key', as Kaggle made it. {_WHERE}") from None
    if not (isinstance(user, str) and isinstance(key, str) and user and key):
        raise UsageError(f"{path} has an empty 'username' or 'key'. {_WHERE}")
    return _user_and_key(user, key, str(path))


def _user_and_key(user: str, key: str, found_in: str) -> Credentials:
    if key.startswith("KGAT_"):  # a token that was pasted where a key was
        return Credentials(kind="token", found_in=found_in, secrets={TOKEN: key})
    return Credentials(kind="key", found_in=found_in, secrets={USER: user, KEY: key})


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError):
        raise UsageError(f"{path} cannot be read. Check its permissions, or make it again. {_WHERE}") from None
