"""Where a Debian package lies, as the machine's apt says. Nothing is installed."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from openmle_env.errors import PreparationError
from openmle_env.task_registry.downloads import client
from openmle_env.task_registry.downloads.source import Source

if TYPE_CHECKING:
    from openmle_env.task_registry.pack import Download

_MISSING = "apt-get is needed to find a Debian package, and this machine has none."


def locate(download: Download) -> list[Source]:
    """The address of a package, by apt's own lists of sources.

    Raises:
        PackError: The package or version has an impossible name.
        InfrastructureError: There is no apt.
        PreparationError: No list of apt names this version.
    """
    client.check_words(download.package, download.version, r"[a-z0-9][a-z0-9+.-]*")
    architecture = download.file.removesuffix(".deb").rpartition("_")[2]
    name = download.package if architecture in {"all", download.file} else f"{download.package}:{architecture}"
    what = f"{name}={download.version}"
    done = client.ask(["apt-get", "download", "--print-uris", what], missing=_MISSING)
    match = re.search(r"^'([^'\s]+)' ", done.stdout, re.MULTILINE)
    if not match:
        raise PreparationError(
            f"apt knows no {what}. Renew its lists as root (apt-get update), or add a source that has this version to "
            f"/etc/apt/sources.list.d. apt said:\n{client.last_words(done.stderr)}"
        )
    url = re.sub(r"^(file|copy):(?=/[^/])", "file://", match[1])
    return [Source(url=url, proxy=_proxy(url))]


def _proxy(url: str) -> str:
    kind = url.partition(":")[0]
    told = client.ask(["apt-config", "dump", f"Acquire::{kind}::Proxy"], missing=_MISSING).stdout
    match = re.search(r'::Proxy "(https?://[^"]+)";', told, re.IGNORECASE)
    return match[1] if match else ""
