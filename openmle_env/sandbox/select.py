"""Choosing a sandbox by name, and saying which ones work on this machine and what the others lack."""

from __future__ import annotations

import functools
import importlib.util
import platform
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from openmle_env import settings
from openmle_env.errors import OpenMLEError, SandboxUnavailableError, unknown_name

if TYPE_CHECKING:
    from openmle_env.sandbox.protocol import Sandbox
    from openmle_env.types import Warm

NAMES = ("docker", "bubblewrap", "scripted")


@dataclass(frozen=True, slots=True, kw_only=True)
class BackendReport:
    """Whether a backend can be used on this machine, and if not, why and what helps."""

    name: str
    usable: bool
    reason: str
    """What was found, in one sentence."""
    remedy: str = ""
    """What to do where it is not usable."""


def create(name: str = "auto", *, image: str | None = None, warm: Warm | None = None) -> Sandbox:
    """Make a sandbox.

    Args:
        name: ``docker``, ``bubblewrap``, ``scripted``, or ``auto``: Docker where an engine answers and the image
            exists, else bubblewrap.
        image: The image for Docker; that of the settings by default.
        warm: Where programs run (see `openmle_env.types.Warm`); that of the settings by default.

    Raises:
        UnknownNameError: There is no such backend.
        SandboxUnavailableError: It does not work on this machine; the message says what to install.
    """
    if name == "auto":
        reports = [docker_report(image)]
        asked = _asked_of_docker()
        if asked and not reports[0].usable:  # whoever asked for it wants no other isolation or libraries
            raise SandboxUnavailableError(f"{asked} is set, which needs Docker. {_sentence(reports[0])}")
        if not reports[0].usable:
            reports.append(bubblewrap_report())
        if not reports[-1].usable:
            raise SandboxUnavailableError("No sandbox works on this machine.\n" + "\n".join(map(_sentence, reports)))
        return _make(reports[-1].name, image, warm)
    if name not in NAMES:
        raise unknown_name("sandbox", name, ("auto", *NAMES))
    if name != "scripted":
        report = docker_report(image) if name == "docker" else bubblewrap_report()
        if not report.usable:
            raise SandboxUnavailableError(_sentence(report))
    return _make(name, image, warm)


def _asked_of_docker() -> str:
    """The setting that only Docker can heed, where one is given."""
    given = settings.load()
    return "OPENMLE_RUNTIME" if given.runtime else "OPENMLE_IMAGE" if given.image else ""


def survey() -> list[BackendReport]:
    """Try the real backends, for ``openmle doctor``; bubblewrap's trial starts a box once for each process."""
    return [docker_report(None), bubblewrap_report()]


def _sentence(report: BackendReport) -> str:
    return f"{report.name}: {report.reason} {report.remedy}".rstrip()


def _make(name: str, image: str | None, warm: Warm | None) -> Sandbox:
    # Imported here: neither backend's libraries may cost those who use the other.
    if name == "docker":
        from openmle_env.sandbox.docker import DockerSandbox

        return DockerSandbox(image, warm=warm)
    if name == "bubblewrap":
        from openmle_env.sandbox.bubblewrap import BubblewrapSandbox

        return BubblewrapSandbox(warm=warm)
    from openmle_env.sandbox.scripted import ScriptedSandbox

    return ScriptedSandbox()


def docker_report(image: str | None) -> BackendReport:
    """Whether an engine answers and has the image; asked anew each time, since engines come and go."""
    if importlib.util.find_spec("docker") is None:
        return BackendReport(
            name="docker",
            usable=False,
            reason="The Python library for Docker is not installed.",
            remedy=f"Install it: {sys.executable} -m pip install docker",
        )
    from openmle_env.sandbox import image as images  # needs the Docker library

    try:
        name = images.chosen(image)
        exists = images.exists(name)
    except OpenMLEError as error:
        return _unusable("docker", str(error))
    if not exists:
        return BackendReport(
            name="docker",
            usable=False,
            reason=f"An engine answers, but has no image {name}.",
            remedy=images.advice(name),
        )
    return BackendReport(name="docker", usable=True, reason=f"An engine answers and has the image {name}.")


def _unusable(name: str, message: str) -> BackendReport:
    """The report of an error: its first sentence is the reason, the rest says what to do."""
    reason, _, remedy = message.partition(". ")
    return BackendReport(name=name, usable=False, reason=reason.removesuffix(".") + ".", remedy=remedy)


@functools.cache
def bubblewrap_report() -> BackendReport:
    """Whether a box can really be started: tried once for each process."""
    if sys.platform != "linux":
        return BackendReport(
            name="bubblewrap",
            usable=False,
            reason=f"Bubblewrap exists on Linux only, this is {platform.system()}.",
            remedy="Install Docker Desktop and start it.",
        )
    from openmle_env.sandbox import packages, seccomp
    from openmle_env.sandbox.bubblewrap import BubblewrapSandbox, find_binary
    from openmle_env.types import Job

    try:
        binary = find_binary()
        packages.view()
        seccomp.bpf()
    except OpenMLEError as error:
        return _unusable("bubblewrap", str(error))
    try:
        result = BubblewrapSandbox(warm="off").run(Job(program="pass", collect=()))
    except OpenMLEError as error:
        return BackendReport(
            name="bubblewrap", usable=False, reason=str(error), remedy=namespace_remedy(Path("/proc/sys"))
        )
    if result.exit_code != 0:
        return BackendReport(
            name="bubblewrap",
            usable=False,
            reason=f"A box starts, but an empty program fails in it: {result.reason} {result.stderr[-500:]}".rstrip(),
            remedy="Please report this with the output of `openmle doctor`.",
        )
    return BackendReport(name="bubblewrap", usable=True, reason=f"A box starts with {binary}.")


_SWITCHES = (
    ("kernel/unprivileged_userns_clone", "0", "Allow it:", "sysctl -w kernel.unprivileged_userns_clone=1"),
    (
        "kernel/apparmor_restrict_unprivileged_userns",
        "1",
        # Ubuntu's default. What changes least comes first: the switch opens namespaces to every program.
        "Install Docker, or give bwrap an AppArmor profile (its package is apparmor-profiles). Else for all programs:",
        "sysctl -w kernel.apparmor_restrict_unprivileged_userns=0",
    ),
    ("user/max_user_namespaces", "0", "Allow it:", "sysctl -w user.max_user_namespaces=10000"),
)


def namespace_remedy(switches: Path) -> str:
    """The kernel switch that keeps ordinary users from making namespaces, as a command; empty when none does."""
    for name, forbidding, advice, command in _SWITCHES:
        try:
            value = (switches / name).read_text().strip()
        except OSError:
            continue  # this kernel has no such switch
        if value == forbidding:
            return f"This kernel forbids ordinary users to make namespaces. {advice} sudo {command}"
    if Path("/.dockerenv").exists() or Path("/run/.containerenv").exists():
        return "This is a container, which may make no other: start it with --privileged, or work outside of it."
    return ""
