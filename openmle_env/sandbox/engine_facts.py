"""What an engine says of itself (``docker info``): which kind, how old, how set up, and whether boxes can run in it.

Every function takes the document that the engine gave, so that it is asked once and that tests need no other engine.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from openmle_env.errors import SandboxUnavailableError

if TYPE_CHECKING:
    from collections.abc import Mapping

    Info = Mapping[str, Any]

OLDEST_DOCKER = (20, 10)
"""The first whose interface (version 1.41) has all that boxes need."""
OLDEST_PODMAN = (4, 0)
_MACHINES = {"x86_64": "amd64", "aarch64": "arm64", "armv7l": "arm", "i686": "386", "i386": "386"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    """An engine, for people."""

    kind: str
    """``docker`` or ``podman``."""
    version: str
    system: str
    architecture: str
    """As images name it, such as ``amd64``."""
    rootless: bool
    user_remapping: bool
    """Whether users of containers are other users outside (userns-remap)."""
    cgroup_version: str
    cgroup_driver: str
    runtimes: tuple[str, ...]
    default_runtime: str
    storage_driver: str
    storage: str
    """The folder with images and containers, on the engine's machine."""


def facts(info: Info) -> Facts:
    """What an engine is."""
    return Facts(
        kind="podman" if is_podman(info) else "docker",
        version=str(info.get("ServerVersion") or "unknown"),
        system=str(info.get("OperatingSystem") or "unknown"),
        architecture=architecture(info),
        rootless=is_rootless(info),
        user_remapping=has_option(info, "userns"),
        cgroup_version=str(info.get("CgroupVersion") or "1"),
        cgroup_driver=str(info.get("CgroupDriver") or "unknown"),
        runtimes=tuple(sorted(info.get("Runtimes") or ())),
        default_runtime=str(info.get("DefaultRuntime") or ""),
        storage_driver=str(info.get("Driver") or "unknown"),
        storage=str(info.get("DockerRootDir") or ""),
    )


def check(info: Info, *, runtime: str = "") -> None:
    """See that boxes can run in this engine, with this runtime where one is named.

    Raises:
        SandboxUnavailableError: It is too old, runs containers of Windows, or does not have the runtime.
    """
    system = str(info.get("OSType") or "linux")
    if system != "linux":
        raise SandboxUnavailableError(
            f"The Docker engine runs containers of {system}, and boxes are Linux containers. Switch it to Linux "
            "containers (in Docker Desktop's menu), or use another engine."
        )
    kind, oldest = ("Podman", OLDEST_PODMAN) if is_podman(info) else ("Docker", OLDEST_DOCKER)
    version = str(info.get("ServerVersion") or "")
    found = re.match(r"v?(\d+)\.(\d+)", version)  # a build from a branch has no number, and is not old
    if found and (int(found[1]), int(found[2])) < oldest:
        raise SandboxUnavailableError(
            f"The {kind} engine is version {version}; boxes need {'.'.join(map(str, oldest))} or newer. Install a "
            "newer one, or set DOCKER_HOST to one."
        )
    check_runtime(info, runtime)


def check_runtime(info: Info, name: str) -> None:
    """See that the engine has a runtime, such as ``runsc``; an empty name is its default, which it always has.

    Raises:
        SandboxUnavailableError: It is not registered.
    """
    known = sorted(info.get("Runtimes") or ())
    if not name or name in known:
        return
    how = (
        "Install it and register it in the engine's daemon.json ('runsc install' does so for gVisor), then restart the "
        "engine; or correct or unset OPENMLE_RUNTIME."
    )
    raise SandboxUnavailableError(
        f"The engine has no runtime {name!r}; registered are {', '.join(known) or 'none'}. {how}"
    )


def check_architecture(info: Info, image: str, attributes: Info) -> None:
    """See that an image, of which the engine gave these attributes, was made for the engine's machine.

    Raises:
        SandboxUnavailableError: It was made for another.
    """
    mine, its = architecture(info), str(attributes.get("Architecture") or "")
    its = _MACHINES.get(its, its)
    system = str(attributes.get("Os") or "linux")
    if its and its != mine:
        raise SandboxUnavailableError(
            f"The image {image!r} was made for {its}, and the engine runs on {mine}. Build it here with 'openmle "
            f"sandbox build', or pull the one for {mine}: docker pull --platform linux/{mine} {image}"
        )
    if system != "linux":
        raise SandboxUnavailableError(
            f"The image {image!r} was made for {system}, and boxes are Linux containers. Build one with 'openmle "
            "sandbox build'."
        )


def architecture(info: Info) -> str:
    """The kind of processor of the engine's machine, as images name it."""
    name = str(info.get("Architecture") or "")
    return _MACHINES.get(name, name)


def is_podman(info: Info) -> bool:
    """Whether this is Podman behind its socket, which takes the same calls with a few differences."""
    return "BuildahVersion" in info


def is_rootless(info: Info) -> bool:
    """Whether the engine runs as an ordinary user; then it can confine only what the user's own cgroup lets it."""
    return bool(info.get("Rootless")) or has_option(info, "rootless")


def has_option(info: Info, name: str) -> bool:
    """Whether the engine names this among its security options."""
    return any(f"name={name}" in str(option).split(",") for option in info.get("SecurityOptions") or ())


def differences(info: Info) -> list[str]:
    """What is not as in an ordinary engine of root, for ``openmle sandbox doctor``; one sentence each."""
    said = []
    if is_podman(info):
        said.append("Podman: the number of files in a box is watched, not confined: a short peak can pass.")
    if is_rootless(info):
        said.append(
            "The engine is rootless: root in a container is your user outside, which boxes do not use; files in /data "
            "have to be readable for others."
        )
        if str(info.get("CgroupVersion")) != "2":
            said.append(
                "A rootless engine bounds memory, CPU time and processes only with cgroup version 2: start the machine "
                "with systemd.unified_cgroup_hierarchy=1."
            )
        elif str(info.get("CgroupDriver")) not in ("systemd", "unknown"):
            said.append("A rootless engine bounds memory and CPU time only with the cgroup driver systemd.")
    if has_option(info, "userns"):
        said.append("The engine maps users (userns-remap): files in /data have to be readable for others.")
    return [*said, *(str(warning) for warning in info.get("Warnings") or ())]
