"""What the engine and NVIDIA's container tools say when a container cannot have its devices, put in words.

None of it is the program's failure: nothing of it ran.
"""

from __future__ import annotations

import contextlib
import re
from typing import TYPE_CHECKING, NamedTuple

from openmle_env.errors import SandboxUnavailableError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from openmle_env.sandbox.gpus.devices import Device

_TOOLKIT = "https://docs.nvidia.com/datacenter/cloud-native/container-toolkit"


class _Meaning(NamedTuple):
    sign: str
    """A pattern that the message holds; the first that fits counts."""
    words: str


_MEANINGS = (
    _Meaning(
        r'could not select device driver "?cdi',
        'CDI is switched off in the Docker engine. Set "features": {"cdi": true} in its daemon.json and restart it.',
    ),
    _Meaning(
        r"could not select device driver",
        "The Docker engine cannot give GPUs to containers: it has no driver for them. Install the NVIDIA Container "
        f"Toolkit ({_TOOLKIT}) and restart the engine.",
    ),
    _Meaning(
        r"unresolvable CDI devices|CDI device injection failed|failed to inject CDI",
        "The CDI description of the GPUs does not fit this machine. Make it anew: sudo nvidia-ctk cdi generate "
        "--output=/etc/cdi/nvidia.yaml",
    ),
    _Meaning(
        r"unknown or invalid runtime name|nvidia-container-runtime\S*: (executable file )?not found|"
        r"nvidia-container-runtime.*(executable file not found|no such file)",
        f"The Docker engine's runtime for GPUs is not installed. Install the NVIDIA Container Toolkit ({_TOOLKIT}), "
        "then: sudo nvidia-ctk runtime configure && sudo systemctl restart docker",
    ),
    _Meaning(
        r"driver/library version mismatch",
        "The NVIDIA driver was updated while it was loaded, and containers cannot use it. Reboot the machine.",
    ),
    _Meaning(
        r"driver not loaded|load library failed|libnvidia-ml\.so|nvml error: (unknown|uninitialized)",
        "The NVIDIA driver of this machine is not loaded or not whole. Run 'nvidia-smi', and install the driver again "
        "where that fails.",
    ),
    _Meaning(
        r"unsatisfied condition",
        "The image needs a newer NVIDIA driver than this machine has. Update the driver, or use an image for an older "
        "CUDA.",
    ),
    _Meaning(
        r"BPF_CGROUP_DEVICE|cgroup subsystem devices not found|failed to (get|add) device (rules|filter)",
        "This engine may not set up device access (it is rootless, or its cgroups are others'). Set no-cgroups = true "
        "in /etc/nvidia-container-runtime/config.toml.",
    ),
    _Meaning(
        r"unknown device|no such device|invalid device|device error",
        "A GPU that was lent does not exist for the Docker engine: it was taken away, or divided anew. See what there "
        "is with 'nvidia-smi -L', and correct OPENMLE_GPUS.",
    ),
    _Meaning(
        r"gathering device information.*nvidia|/dev/nvidia\S*: no such file|failed to stat CDI host device",
        "The files of the GPU in /dev are missing. Make them: sudo nvidia-modprobe -u -c=0; then make the CDI "
        "description anew, where one is used.",
    ),
    _Meaning(
        r"timed out.*nvidia|nvidia-container-cli: .*timed out|driver rpc error",
        "The NVIDIA driver did not answer in time. Keep it awake (sudo nvidia-smi -pm 1), and look at 'sudo dmesg' for "
        "lines with NVRM or Xid.",
    ),
    _Meaning(
        r"nvidia-container-cli|nvidia-container-runtime|nvidia-ctk",
        f"NVIDIA's container tools failed. Run 'nvidia-container-cli info', and see {_TOOLKIT}.",
    ),
)
_MOST_CHARACTERS = 400


def explain(message: str) -> SandboxUnavailableError | None:
    """The error for what an engine said when it could not give a container its devices; None where it is about others.

    >>> print(explain("device error: GPU-12: unknown device: unknown").args[0].partition(":")[0])
    A GPU that was lent does not exist for the Docker engine
    """
    for meaning in _MEANINGS:
        if re.search(meaning.sign, message, re.IGNORECASE | re.DOTALL):
            said = " ".join(message.split())
            tail = said if len(said) <= _MOST_CHARACTERS else f"... {said[-_MOST_CHARACTERS:]}"
            return SandboxUnavailableError(f"{meaning.words} (The engine said: {tail})")
    return None


@contextlib.contextmanager
def explaining(devices: Sequence[Device]) -> Iterator[None]:
    """Around the calls that create and start a container: what fails for its devices' sake says so.

    Raises:
        SandboxUnavailableError: Instead of the one that was raised inside, where that is about devices.
    """
    try:
        yield
    except SandboxUnavailableError as error:
        clear = explain(str(error)) if devices else None
        if clear is None:
            raise
        raise clear from error
