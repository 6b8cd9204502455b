"""Asking a registry's own client, which knows the user's mirrors, proxies and certificates."""

from __future__ import annotations

import re
import subprocess
from typing import TYPE_CHECKING

from openmle_env.errors import InfrastructureError, PackError
from openmle_env.printable import printable

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

SECONDS = 180.0
"""How long a client may take to answer: it has retries of its own."""
_TAIL_LINES = 8
_TAIL_CHARACTERS = 1200
_PASSWORD = re.compile(r"//[^/@\s]*@")


def ask(
    command: Sequence[str], *, missing: str, variables: Mapping[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    """Run a client that answers on stdout; ``missing`` says what to do where it is not installed.

    Raises:
        InfrastructureError: It is not installed, or does not answer.
    """
    try:
        return subprocess.run(
            command,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            encoding="utf-8",
            errors="replace",
            check=False,
            timeout=SECONDS,
            env=variables,
        )
    except FileNotFoundError:
        raise InfrastructureError(missing) from None
    except OSError as error:
        raise InfrastructureError(f"{command[0]} cannot be run: {error.strerror or error}.") from None
    except subprocess.TimeoutExpired:
        raise InfrastructureError(
            f"{command[0]} did not answer within {SECONDS:g} s. Look at the network, and try again."
        ) from None


def last_words(said: str) -> str:
    """The end of what a client wrote, for people: no password, nothing that steers a terminal."""
    lines = [line.rstrip() for line in said.splitlines() if line.strip()]
    return printable(_PASSWORD.sub("//", "\n".join(lines[-_TAIL_LINES:])))[-_TAIL_CHARACTERS:]


def check_words(package: str, version: str, pattern: str) -> None:
    """Refuse names that a client could take for something else than a package and its version, such as an option.

    Raises:
        PackError: One is of another form.
    """
    if not re.fullmatch(pattern, package):
        raise PackError(f"'downloads' in pack.yaml: {package!r} is no name of a package. Correct it.")
    if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9.+!_:~-]*", version):
        raise PackError(f"'downloads' in pack.yaml: {version!r} is no version of a package. Correct it.")
