"""What Podman 4 wants otherwise than Docker, behind the same calls (see `engine_facts.is_podman`).

Its images give folders their mode: ``/work`` and ``/output`` are anybody's there, as the image is made.
"""

from __future__ import annotations

import contextlib
import hashlib
from typing import TYPE_CHECKING

from openmle_env import settings
from openmle_env.errors import SandboxUnavailableError
from openmle_env.files import write_whole

if TYPE_CHECKING:
    from collections.abc import Mapping

_UNKNOWN = ("nr_inodes", "uid", "gid", "mode")
"""Options of tmpfs that it refuses, or does not heed."""


def folders(options: Mapping[str, str]) -> dict[str, str]:
    """The options of writable folders, as it takes them; their number of files is watched by the supervisor alone.

    >>> folders({"/work": "rw,nosuid,size=1048576,nr_inodes=100,mode=0755,uid=1,gid=1"})
    {'/work': 'rw,nosuid,size=1048576'}
    """
    return {
        place: ",".join(item for item in given.split(",") if item.partition("=")[0] not in _UNKNOWN)
        for place, given in options.items()
    }


def seccomp(profile: str) -> str:
    """The name of a file with this profile, below ``OPENMLE_HOME``: it takes no profile as text.

    Raises:
        SandboxUnavailableError: The file cannot be written.
    """
    name = hashlib.sha256(profile.encode()).hexdigest()[:16]
    file = settings.load().home / "sandbox" / f"seccomp-{name}.json"
    with contextlib.suppress(OSError, ValueError):
        if file.read_text(encoding="utf-8") == profile:
            return str(file)
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        write_whole(file, profile.encode())
    except OSError as error:
        raise SandboxUnavailableError(
            f"Podman needs the system call filter as a file, and {file} cannot be written: {error.strerror or error}. "
            "Set OPENMLE_HOME to a folder that you may write."
        ) from error
    return str(file)
