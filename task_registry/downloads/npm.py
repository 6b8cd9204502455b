"""Where the archive of an npm package lies, as the user's npm says. Nothing is installed."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from openmle_env.errors import InfrastructureError, PreparationError
from openmle_env.task_registry.downloads import client
from openmle_env.task_registry.downloads.source import Source

if TYPE_CHECKING:
    from openmle_env.task_registry.pack import Download

_MISSING = "npm is needed to find an npm package, and it is not installed. Install Node.js, which brings it."


def locate(download: Download) -> list[Source]:
    """The address of a package's archive, by npm's own settings: registry, proxy, certificates.

    Raises:
        PackError: The package or version has an impossible name.
        InfrastructureError: There is no npm, or it could not ask its registry.
        PreparationError: The registry has no such version.
    """
    client.check_words(download.package, download.version, r"(?:@[a-z0-9~][a-z0-9._~-]*/)?[A-Za-z0-9~][A-Za-z0-9._~-]*")
    what = f"{download.package}@{download.version}"
    done = client.ask(["npm", "view", what, "dist.tarball", "--json"], missing=_MISSING)
    url = _read(done.stdout)
    if not isinstance(url, str):
        said = client.last_words(done.stderr)
        if done.returncode and "E404" not in done.stderr:
            raise InfrastructureError(
                f"The npm registry cannot be asked for {what}. Check the network, `npm config list`, and that npm may "
                f"write into its own folders. npm said:\n{said}"
            )
        raise PreparationError(
            f"The npm registry has no {what}. Check the names in 'downloads' of pack.yaml, and `npm config get "
            f"registry`, if it is a mirror. npm said:\n{said}"
        )
    settings = _read(client.ask(["npm", "config", "list", "--json"], missing=_MISSING).stdout)
    own = settings if isinstance(settings, dict) else {}
    proxy = own.get("https-proxy") if url.startswith("https:") else own.get("proxy")
    return [
        Source(
            url=url,
            proxy=proxy or own.get("proxy") or "",
            certificates=own.get("cafile") or "",
            trusted=own.get("strict-ssl") is False,
        )
    ]


def _read(text: str) -> object:
    try:
        return json.loads(text)
    except ValueError:
        return None
