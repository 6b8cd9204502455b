"""Opening an address at any byte: HTTP with proxies, certificates, redirects and passwords, and plain files."""

from __future__ import annotations

import base64
import http.client
import netrc
import os
import re
import ssl
import stat
import time
import urllib.error
import urllib.request
from contextlib import contextmanager
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote, urlsplit, urlunsplit

from openmle_env.errors import InfrastructureError, PreparationError
from openmle_env.printable import printable
from openmle_env.task_registry.downloads.source import Source, shown

if TYPE_CHECKING:
    from collections.abc import Iterator
    from io import BufferedReader

QUIET_SECONDS = 60.0
"""How long a server may say nothing, while a connection is made and while it sends."""
_TRY_AGAIN = {408, 425, 429, 500, 502, 503, 504}


class InterruptedTransferError(InfrastructureError):
    """A transfer failed in a way that another try may mend."""

    wait = 0.0
    """Seconds that the server asked to wait."""


@dataclass(frozen=True, slots=True)
class Reply:
    """What a server sends."""

    content: BufferedReader | http.client.HTTPResponse
    start: int
    """Which byte of the file comes first. It is 0 where the server cannot begin in the middle."""
    total: int | None
    """Bytes of the whole file, where the server says so."""
    place: str
    """Its address, for people."""

    def read(self, size: int) -> bytes:
        """The next bytes, at most so many; none at the end, which may come early.

        Raises:
            InterruptedTransferError: The connection was cut off.
        """
        with _worded(self.place):
            return self.content.read1(size)


@contextmanager
def opened(source: Source, start: int) -> Iterator[Reply]:
    """Open an address from byte ``start`` on.

    Raises:
        InterruptedTransferError: The server is busy or gone for now.
        PreparationError: There is no such file.
        InfrastructureError: It refuses, or is not whom its certificate should name.
    """
    place = shown(source.url)
    with _worded(place):
        if urlsplit(source.url).scheme not in {"http", "https", "file"}:
            raise InfrastructureError(f"{place} is no address that can be opened: it should be http, https or file.")
        reply = _open_file(source, start, place) if source.url.startswith("file:") else _ask(source, start, place)
    with reply.content:
        yield reply


def _open_file(source: Source, start: int, place: str) -> Reply:
    descriptor = os.open(unquote(urlsplit(source.url).path), os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    file = os.fdopen(descriptor, "rb")  # `opened` closes it
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):  # a pipe or a device may have no end
        file.close()
        raise InfrastructureError(f"{place} is no plain file.")
    total = file.seek(0, 2)
    return Reply(file, file.seek(min(start, total)), total, place)


def _ask(source: Source, start: int, place: str) -> Reply:
    reply = _opener(source).open(_request(source, start), timeout=QUIET_SECONDS)
    try:
        return _reply(reply, place)
    except BaseException:
        reply.close()
        raise


@contextmanager
def _worded(place: str) -> Iterator[None]:
    try:
        yield
    except urllib.error.HTTPError as error:
        with error:
            raise _refusal(error, place) from None
    except urllib.error.URLError as error:
        raise _unreachable(error.reason, place) from None
    except FileNotFoundError:
        raise PreparationError(f"There is no file {place}.") from None
    except (PermissionError, IsADirectoryError) as error:
        raise InfrastructureError(f"{place} cannot be read: {error.strerror}.") from None
    except (http.client.InvalidURL, ValueError) as error:  # a port that is none, control characters
        raise InfrastructureError(f"{printable(place)} is no address that can be opened: {error}.") from None
    except (http.client.HTTPException, OSError) as error:
        raise _unreachable(error, place) from None


def _request(source: Source, start: int) -> urllib.request.Request:
    parts = urlsplit(source.url)
    bare = urlunsplit((parts.scheme, parts.netloc.rpartition("@")[2], parts.path, parts.query, ""))
    request = urllib.request.Request(bare, headers={"Accept-Encoding": "identity", "User-Agent": "openmle_env"})  # noqa: S310  the pack's format allows these schemes only
    if start:
        request.add_header("Range", f"bytes={start}-")
    if authorization := source.authorization or _authorization(source.url):
        request.add_unredirected_header("Authorization", authorization)  # another host is not shown it
    return request


def _authorization(url: str) -> str:
    """The header for user and password of an address, else for those that the user's ``.netrc`` has for its host."""
    parts = urlsplit(url)
    user, password = unquote(parts.username or ""), unquote(parts.password or "")
    if not user:
        try:
            known = netrc.netrc().authenticators(parts.hostname or "")
        except (OSError, netrc.NetrcParseError):
            known = None
        user, password = (known[0] or "", known[2] or "") if known else ("", "")
    return f"Basic {base64.b64encode(f'{user}:{password}'.encode()).decode('ascii')}" if user else ""


def _opener(source: Source) -> urllib.request.OpenerDirector:
    handlers: list[urllib.request.BaseHandler] = []
    if source.proxy:
        handlers.append(urllib.request.ProxyHandler({"http": source.proxy, "https": source.proxy}))
    if source.url.startswith("https:"):
        handlers.append(urllib.request.HTTPSHandler(context=_context(source)))
    return urllib.request.build_opener(*handlers)


def _context(source: Source) -> ssl.SSLContext:
    context = ssl.create_default_context()
    try:
        if source.certificates:
            folder = Path(source.certificates).is_dir()
            context.load_verify_locations(**{"capath" if folder else "cafile": source.certificates})
        if source.client_certificate:
            context.load_cert_chain(source.client_certificate)
    except OSError as error:  # ssl.SSLError is one
        raise InfrastructureError(
            f"The certificates {source.certificates or source.client_certificate!r}, which the registry's client is "
            f"set to use, cannot be read: {error.strerror or error}. Correct its settings."
        ) from None
    if source.trusted:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    return context


def _reply(reply: Any, place: str) -> Reply:
    if reply.status == http.HTTPStatus.PARTIAL_CONTENT:
        match = re.fullmatch(r"bytes (\d{1,18})-\d+/(\d{1,18}|\*)", reply.headers.get("Content-Range", ""))
        if not match:
            raise InterruptedTransferError(f"{place} sent a part of a file, and not which.")
        return Reply(reply, int(match[1]), None if match[2] == "*" else int(match[2]), place)
    length = reply.headers.get("Content-Length", "")
    return Reply(reply, 0, int(length) if re.fullmatch(r"\d{1,18}", length) else None, place)


def _refusal(error: urllib.error.HTTPError, place: str) -> Exception:
    told = f"{place} answered {error.code} ({printable(str(error.reason))[:80]})."
    if error.code in _TRY_AGAIN:
        again = InterruptedTransferError(told)
        again.wait = _seconds(error.headers.get("Retry-After", ""))
        return again
    if error.code == http.HTTPStatus.REQUESTED_RANGE_NOT_SATISFIABLE:
        return InterruptedTransferError(told)
    if error.code in {401, 403}:
        return InfrastructureError(
            f"{told} It gives this file only to those whom it knows, or not to this machine: look at the user and "
            "password in the settings of the registry's client or in ~/.netrc, and at its terms of use."
        )
    if error.code == http.HTTPStatus.PROXY_AUTHENTICATION_REQUIRED:
        return InfrastructureError(f"{told} The proxy wants a user and a password: put them into its address.")
    if error.code in {404, 410}:
        return PreparationError(f"{told} The file is not there, or not there any more.")
    return InfrastructureError(told)


def _seconds(text: str) -> float:
    """What a server's Retry-After means: seconds, or a date."""
    if text.isdecimal():
        return float(text)
    try:
        return max(0.0, parsedate_to_datetime(text).timestamp() - time.time())
    except ValueError:
        return 0.0


def _unreachable(reason: object, place: str) -> Exception:
    if isinstance(reason, ssl.SSLCertVerificationError):
        return InfrastructureError(
            f"The certificate of {place} is not trusted: {reason.verify_message}. Where a proxy or mirror has one of "
            "its own authority, name that in the settings of the registry's client, or in SSL_CERT_FILE."
        )
    why = getattr(reason, "strerror", None) or str(reason) or type(reason).__name__
    return InterruptedTransferError(f"{place} cannot be reached, or was cut off: {printable(str(why))[:200]}.")
