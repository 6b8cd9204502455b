"""What lies on a device at this moment: memory in use, and the processes that compute on it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from openmle_env.sandbox import reaper
from openmle_env.sandbox.gpus import smi
from openmle_env.sandbox.gpus.devices import mib

if TYPE_CHECKING:
    import xml.etree.ElementTree as ET
    from collections.abc import Iterable, Mapping

    from openmle_env.sandbox.gpus.devices import Device

_OFTEN_UNTOLD = ("", "n/a", "not supported")


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    """One look at one device."""

    used_mb: int | None
    """Memory in use, in MiB; None where the driver does not tell."""
    processes: Mapping[str, str]
    """Processes that compute on it: for people, by who they are beyond reuse of their number."""
    trouble: str = ""
    """What the driver says instead of a number, such as ``GPU requires reset``."""


def look(devices: Iterable[Device]) -> dict[str, Usage]:
    """The use of each device, by its uuid.

    Raises:
        SandboxUnavailableError: nvidia-smi failed, or does not know a device any more.
    """
    wanted = tuple(devices)
    found = _whole() if any(item.kind == "gpu" for item in wanted) else {}
    if any(item.kind == "mig" for item in wanted):
        found |= _instances(wanted)
    gone = Usage(used_mb=None, processes={}, trouble="the driver does not list it any more")
    return {item.uuid: found.get(item.uuid, gone) for item in wanted}


def _whole() -> dict[str, Usage]:
    processes: dict[str, dict[str, str]] = {}
    for uuid, pid, name in smi.query("compute-apps", ["gpu_uuid", "pid", "process_name"]):
        processes.setdefault(uuid, {}).update(_process(pid, name))
    return {uuid: _usage(used, processes.get(uuid, {})) for uuid, used in smi.query("gpu", ["uuid", "memory.used"])}


def _instances(wanted: Iterable[Device]) -> dict[str, Usage]:
    parts = {
        (gpu.findtext("uuid", ""), part.findtext("index", "").strip()): (gpu, part)
        for gpu in smi.tree().iter("gpu")
        for part in gpu.iter("mig_device")
    }
    found = {}
    for device in wanted:
        gpu, part = parts.get((device.parent, device.index.partition(":")[2]), (None, None))
        if gpu is not None and part is not None:
            found[device.uuid] = _usage(part.findtext("fb_memory_usage/used", ""), _processes(gpu, part))
    return found


def _processes(gpu: ET.Element, part: ET.Element) -> dict[str, str]:
    """Those of one instance: GPU instance and compute instance tell whose they are."""
    place = ("gpu_instance_id", "compute_instance_id")
    own = [part.findtext(name, "").strip() for name in place]
    found: dict[str, str] = {}
    for item in gpu.iter("process_info"):
        if [item.findtext(name, "").strip() for name in place] == own and "C" in item.findtext("type", "C"):
            found |= _process(item.findtext("pid", ""), item.findtext("process_name", ""))
    return found


def _process(pid: str, name: str) -> dict[str, str]:
    """A process of the list; its start time tells it from a later one of the same number, where it can be seen."""
    identity = reaper.owner(int(pid)) if pid.isascii() and pid.isdecimal() else ""
    return {identity or f"pid {pid}": f"process {pid} ({name[:100]})"}


def _usage(used: str, processes: Mapping[str, str]) -> Usage:
    size = mib(used)
    said = used.strip("[] ")
    trouble = said if size is None and said.casefold() not in _OFTEN_UNTOLD else ""
    return Usage(used_mb=size, processes=processes, trouble=trouble)
