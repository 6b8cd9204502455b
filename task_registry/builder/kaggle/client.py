"""Asking Kaggle's own client, in a process of its own that alone is given the keys."""

from __future__ import annotations

import importlib.metadata
import json
import os
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from openmle_env.errors import OpenMLEError, UsageError
from openmle_env.printable import printable
from openmle_env.task_registry.builder.kaggle import credentials

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from openmle_env.task_registry.builder.sources import Source

    Tell = Callable[[str], None]

HELPER = Path(__file__).with_name("helper.py")
OLDEST = (1, 6, 0)
"""The first version of the client whose methods page through long lists."""
RESUMES_SINCE = (2, 2, 4)
"""The first version that goes on with a part file only where it can prove what it is part of."""
ASK_SECONDS, DOWNLOAD_SECONDS = 120.0, 24 * 3600.0
REINSTALL = "Install it anew, with all that it needs: pip install --upgrade 'openmle-env[kaggle]'"
TRIES = 6
SILENT_TRIES = 3
"""How often nobody answers at all before it is given up: there may be no network."""
WAITS = (2.0, 5.0, 15.0, 60.0, 120.0)
"""Seconds before each repetition, where Kaggle does not say how long."""
LONGEST_WAIT = 900.0
_PASSED_ON = (
    "PATH", "HOME", "XDG_CONFIG_HOME", "KAGGLE_CONFIG_DIR", "KAGGLE_API_ENVIRONMENT", "KAGGLE_PROXY",
    "HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "no_proxy", "all_proxy",
    "SSL_CERT_FILE", "SSL_CERT_DIR", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE", "PYTHONPATH", "VIRTUAL_ENV", "TMPDIR",
)  # fmt: skip
"""What the client's process gets of our environment, beside the keys."""


class KaggleError(OpenMLEError, RuntimeError):
    """Kaggle could not be asked, or did not answer; the same may work later."""


class KaggleRefusedError(KaggleError):
    """Kaggle does not take the keys: nothing more can be had with them."""


class UnobtainableError(KaggleError):
    """Kaggle does not hand out the data of this source to this account."""


class NotOnKaggleError(KaggleError):
    """There is no competition, or no data set, of this name."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RemoteFile:
    """One file as Kaggle lists it."""

    name: str
    size: int | None
    """Bytes; None where Kaggle does not say."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Listing:
    """The files of a competition or a data set."""

    files: tuple[RemoteFile, ...]
    whole: bool
    """Whether these are all; the list of a very large one is cut."""

    @property
    def size(self) -> int:
        """Bytes of all files whose size is known."""
        return sum(file.size or 0 for file in self.files)


@dataclass(frozen=True, slots=True, kw_only=True)
class KaggleClient:
    """Kaggle's client with the keys for it; nothing runs until it is asked."""

    keys: credentials.Credentials
    version: str
    environment: Mapping[str, str]
    """Of our own process, from which the client's is made."""
    wait: Callable[[float], None] = time.sleep

    def competition(self, source: Source) -> dict[str, Any] | None:
        """What the list of competitions says of one: whether it was entered, title, metric; None where it lacks it."""
        found = self._ask(source, {"action": "competition", "name": source.name})
        return found if isinstance(found, dict) else None

    def listing(self, source: Source) -> Listing:
        """Names and sizes of the files.

        Raises:
            NotOnKaggleError: There is no such source.
            UnobtainableError: It is not for this account.
            KaggleRefusedError: The keys are not taken.
            KaggleError: Kaggle did not answer.
        """
        found = self._ask(source, {"action": "files", "kind": source.kind, "name": source.name})
        entries = tuple(RemoteFile(name=name, size=size) for name, size in found["files"])
        return Listing(files=entries, whole=found["whole"])

    def download(self, source: Source, folder: Path, files: list[str] | None, tell: Tell) -> None:
        """Fetch a source into a folder: one archive of everything, or the files that are named.

        A version of the client that cannot prove what a part file is part of begins anew.

        Raises:
            KaggleError: As for `listing`.
        """
        request = {
            "action": "download",
            "kind": source.kind,
            "name": source.name,
            "folder": str(folder),
            "files": files,
            "force": credentials.version_numbers(self.version) < RESUMES_SINCE,
        }
        self._ask(source, request, seconds=DOWNLOAD_SECONDS, tell=tell)

    def leaderboard(self, source: Source, folder: Path) -> None:
        """Fetch the archive with the public leaderboard of a competition into a folder."""
        self._ask(source, {"action": "leaderboard", "name": source.name, "folder": str(folder)})

    def metadata(self, source: Source, folder: Path) -> None:
        """Have the client write what a data set says of itself into a folder."""
        self._ask(source, {"action": "metadata", "name": source.name, "folder": str(folder)})

    def _ask(
        self, source: Source, request: dict[str, Any], *, seconds: float = ASK_SECONDS, tell: Tell | None = None
    ) -> Any:
        """Ask until there is an answer or a fault that repeating does not mend; at most `TRIES` times."""
        silent = 0
        for trial in range(TRIES):
            answer = self._call(request, seconds)
            if "result" in answer:
                return answer["result"]
            fault = answer["error"]
            status, message = fault.get("status"), printable(self.keys.hide(str(fault.get("message", ""))))
            if fault.get("broken"):
                raise UsageError(f"Kaggle's client {self.version} does not start: {message}. {REINSTALL}")
            _raise_if_final(source, self.keys, status, message)
            silent += status is None
            if trial == TRIES - 1 or silent == SILENT_TRIES:
                break
            pause = _pause(fault.get("retry_after"), WAITS[min(trial, len(WAITS) - 1)])
            why = "Kaggle asks to wait" if status == 429 else f"Kaggle did not answer ({message[:120]})"
            if tell is not None:
                tell(f"{source.slug}: {why}; once more in {pause:.0f} s")
            self.wait(pause)
        raise KaggleError(
            f"Kaggle did not answer for {source.name}, {trial + 1} tries in all: {message} "
            "What was fetched is kept: run the same command again later."
        )

    def _call(self, request: dict[str, Any], seconds: float) -> dict[str, Any]:
        environment = {name: value for name in _PASSED_ON if (value := self.environment.get(name))}
        environment |= {"PYTHONUTF8": "1", "PYTHONWARNINGS": "ignore", **self.keys.secrets}
        try:
            done = subprocess.run(
                [sys.executable, str(HELPER)],
                input=json.dumps(request).encode(),
                env=environment,
                capture_output=True,
                check=False,
                timeout=seconds,
            )
        except subprocess.TimeoutExpired:
            return {"error": {"status": None, "message": f"the client was not done after {seconds:.0f} s"}}
        try:
            answer = json.loads(done.stdout)
        except ValueError:
            said = done.stderr.decode("utf-8", "replace").strip().splitlines()[-1:]
            return {"error": {"status": None, "message": f"the client ended with code {done.returncode}: {said}"}}
        return answer if isinstance(answer, dict) else {"error": {"status": None, "message": "no answer"}}


def connect(environment: Mapping[str, str] | None = None) -> KaggleClient:
    """Find the client and the keys. Neither is used yet, and the client is not imported.

    Raises:
        UsageError: The client is not installed or too old, there are no keys, or it does not know such keys.
    """
    given = os.environ if environment is None else environment
    try:
        version = importlib.metadata.version("kaggle")
    except importlib.metadata.PackageNotFoundError:
        raise UsageError(
            "Kaggle's client is not installed, and Kaggle is asked through nothing else. "
            "Install the extra: pip install 'openmle-env[kaggle]'"
        ) from None
    if credentials.version_numbers(version) < OLDEST:
        raise UsageError(f"Kaggle's client is version {version}, which is too old. pip install --upgrade kaggle")
    keys = credentials.find(given)
    credentials.check_version(keys, version)
    return KaggleClient(keys=keys, version=version, environment=dict(given))


def _raise_if_final(source: Source, keys: credentials.Credentials, status: int | None, message: str) -> None:
    """Raise what no repetition mends."""
    if status == 401:
        raise KaggleRefusedError(
            f"Kaggle does not take the keys found in {keys.found_in}. Make a new token in your Kaggle settings and "
            f"replace them. It said: {message}"
        )
    if status == 403:
        if source.kind == "competition":
            raise UnobtainableError(
                f"Kaggle does not hand out {source.name} to this account: the competition's rules were not accepted. "
                f"Accept them at {source.rules} and run the same command again. If that page has no button for it, "
                f"the competition is closed, and its data cannot be had. Kaggle said: {message}"
            )
        raise UnobtainableError(
            f"Kaggle does not hand out {source.name} to this account: it is private, or was taken back. See "
            f"{source.address}. Kaggle said: {message}"
        )
    if status == 404:
        raise NotOnKaggleError(
            f"Kaggle has no {'competition' if source.kind == 'competition' else 'data set'} {source.name!r}. Check "
            f"the name: it is the end of its address, here {source.address}"
        )
    if status is not None and 400 <= status < 500 and status not in {408, 429}:
        raise KaggleError(f"Kaggle refuses to answer for {source.name} ({status}): {message}")


def _pause(stated: object, otherwise: float) -> float:
    """Seconds to wait, as the server says, within bounds."""
    try:
        seconds = float(str(stated))
    except ValueError:
        return otherwise
    return min(max(seconds, 0.0), LONGEST_WAIT) if seconds == seconds else otherwise  # noqa: PLR0124 - NaN
