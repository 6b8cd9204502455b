"""Where a file may be fetched from, and how an address is shown to people."""

from __future__ import annotations

from dataclasses import dataclass
from urllib.parse import urlsplit


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """One address of a file, with the settings of the client that named it."""

    url: str
    """Begins with ``https://``, ``http://`` or ``file://``. It may hold a password: show it by `shown` only."""
    authorization: str = ""
    """The header by which the client would show a user and password; empty for those of the address, if any."""
    proxy: str = ""
    """Address of a proxy; empty for the one of the environment's variables, if any."""
    certificates: str = ""
    """File or folder with certificates that are trusted beside the system's."""
    client_certificate: str = ""
    """File with the certificate and key that the user shows to the server."""
    trusted: bool = False
    """Whether the user said that the server's certificate need not be checked. What it sends is checked in any case."""


def shown(url: str) -> str:
    """An address for people: without what may be a password or a token.

    >>> shown("https://me:secret@example.org:8443/simple/a.whl?token=abc#sha256=00")
    'https://example.org:8443/simple/a.whl'
    """
    try:
        parts = urlsplit(url)
    except ValueError:
        return "an address that is none"  # and what of it may be a password cannot be told
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path}"
