"""What a container of the Docker engine is told so that it has devices, and what the program in it is told."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from docker.types import DeviceRequest

    from openmle_env.sandbox.gpus.devices import Device

CAPABILITIES = [["gpu", "compute", "utility"]]
"""Of the driver's libraries: those to compute, and nvidia-smi with its own. No graphics, no video."""
CDI_KIND = "nvidia.com/gpu"
"""What the container toolkit of NVIDIA calls its devices in the Container Device Interface (CDI)."""
CDI_ENGINE = 25
"""The first engine that takes CDI devices."""
_KEPT_FREE = 0.1
"""The share of a device that is left to contexts and libraries, which no fraction counts."""
_TORCH_FRACTION = (2, 10)
"""The first torch that reads a fraction from its environment. Older ones fail at a word that they do not know."""


def requests(devices: Sequence[Device], info: Mapping[str, Any]) -> list[DeviceRequest]:
    """The ``device_requests`` of a container that gets these devices and no others.

    By CDI where that is all that the engine offers, else by the engine's driver ``nvidia``.

    Args:
        devices: None gives no request.
        info: What the engine says of itself (``docker info``).
    """
    from docker.types import DeviceRequest  # an extra, and slow to import

    if not devices:
        return []
    if uses_cdi(info):
        listed = {item.get("ID") for item in info.get("DiscoveredDevices") or () if isinstance(item, dict)}
        return [DeviceRequest(driver="cdi", device_ids=[_cdi_name(device, listed) for device in devices])]
    ids = [device.uuid for device in devices]
    return [DeviceRequest(driver="nvidia", device_ids=ids, capabilities=CAPABILITIES)]


def uses_cdi(info: Mapping[str, Any]) -> bool:
    """Whether devices are asked for by CDI: the engine has it with devices of NVIDIA, and has no runtime of theirs."""
    version = str(info.get("ServerVersion", "")).partition(".")[0]
    if "nvidia" in (info.get("Runtimes") or {}) or not version.isdecimal() or int(version) < CDI_ENGINE:
        return False
    if "DiscoveredDevices" in info:  # an engine that lists what it found
        found = info["DiscoveredDevices"] or ()
        return any(str(item.get("ID", "")).startswith(f"{CDI_KIND}=") for item in found if isinstance(item, dict))
    return bool(info.get("CDISpecDirs"))


def _cdi_name(device: Device, listed: Collection[object]) -> str:
    """By uuid, unless the specification on that machine names devices by index only."""
    by_uuid, by_index = f"{CDI_KIND}={device.uuid}", f"{CDI_KIND}={device.index}"
    return by_index if by_uuid not in listed and by_index in listed else by_uuid


def container_environment(devices: Sequence[Device]) -> dict[str, str]:
    """Environment of the container itself: without devices, none even where NVIDIA's runtime is the engine's default.

    Images made for CUDA ask that runtime for all devices.
    """
    return {} if devices else {"NVIDIA_VISIBLE_DEVICES": "void"}


def environment(devices: Sequence[Device], *, sharing: int = 1, torch: str = "") -> dict[str, str]:
    """Environment of the program: which devices it has, and of a shared one, how much memory it should take.

    What is said of memory is a request: the frameworks keep to it, a program that wants more takes more. MIG instances
    are bounded by hardware. CUDA shows a process one MIG instance only, the first.

    Args:
        devices: None hides whatever is there.
        sharing: How many programs may be on each device together.
        torch: Version of torch that the program will import; older ones cannot be told, nor unknown ones.
    """
    if not devices:
        return {"CUDA_VISIBLE_DEVICES": ""}
    found = {"CUDA_VISIBLE_DEVICES": ",".join(device.uuid for device in devices)}
    if sharing > 1:
        share = f"{int((1 - _KEPT_FREE) / sharing * 1000) / 1000:g}"
        found |= {
            "XLA_PYTHON_CLIENT_MEM_FRACTION": share,  # JAX; the newer name is read first where it is known
            "XLA_CLIENT_MEM_FRACTION": share,
            "XLA_PYTHON_CLIENT_PREALLOCATE": "false",
            "TF_FORCE_GPU_ALLOW_GROWTH": "true",  # TensorFlow: takes what it needs; it reads no fraction
            "CUPY_GPU_MEMORY_LIMIT": f"{float(share) * 100:g}%",
            "FLAGS_fraction_of_gpu_memory_to_use": share,  # PaddlePaddle
        }
        if _release(torch) >= _TORCH_FRACTION:
            found["PYTORCH_CUDA_ALLOC_CONF"] = f"per_process_memory_fraction:{share}"
    return found


def _release(version: str) -> tuple[int, ...]:
    """The first two numbers of a version; empty where it has none.

    >>> _release("2.10.0+cu126"), _release("")
    ((2, 10), ())
    """
    parts = version.split(".")[:2]
    return tuple(map(int, parts)) if len(parts) == 2 and all(part.isdecimal() for part in parts) else ()
