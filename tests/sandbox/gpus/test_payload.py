"""What the engine and the program are told about devices, and what the engine's answers mean."""

from __future__ import annotations

import contextlib
import secrets
from typing import TYPE_CHECKING

import pytest

from openmle_env.errors import SandboxUnavailableError
from openmle_env.sandbox import engine, reaper
from openmle_env.sandbox.gpus import payload
from openmle_env.sandbox.gpus.devices import Device
from openmle_env.sandbox.gpus.engine_errors import explain, explaining
from tests.sandbox.gpus.standin import devices

if TYPE_CHECKING:
    from collections.abc import Iterator

MIG = Device(uuid="MIG-1234", name="NVIDIA H200 MIG 1g.18gb", memory_mb=16384, kind="mig", index="1:0")
GPUS = devices(2)
OLD = {"ServerVersion": "20.10.24+dfsg1", "Runtimes": {"runc": {}}}
CDI = {"ServerVersion": "28.3.1", "Runtimes": {"runc": {}}, "CDISpecDirs": ["/etc/cdi"]}


def found(*names: str) -> dict:
    return {**CDI, "DiscoveredDevices": [{"Source": "cdi", "ID": name} for name in names]}


def test_devices_by_the_driver_of_the_engine():
    (request,) = payload.requests([*GPUS, MIG], OLD)
    assert request == {
        "Driver": "nvidia",
        "Count": 0,
        "DeviceIDs": [GPUS[0].uuid, GPUS[1].uuid, "MIG-1234"],
        "Capabilities": [["gpu", "compute", "utility"]],
        "Options": {},
    }
    assert payload.requests([], OLD) == []


def test_devices_by_cdi():
    (request,) = payload.requests([GPUS[0], MIG], CDI)
    assert (request["Driver"], request["Count"]) == ("cdi", 0)
    assert request["DeviceIDs"] == [f"nvidia.com/gpu={GPUS[0].uuid}", "nvidia.com/gpu=MIG-1234"]


@pytest.mark.parametrize(
    ("info", "cdi"),
    [
        ({}, False),
        (OLD, False),
        ({**CDI, "Runtimes": {"runc": {}, "nvidia": {}}}, False),
        ({**CDI, "ServerVersion": "24.0.9"}, False),
        ({**CDI, "CDISpecDirs": []}, False),
        ({**CDI, "ServerVersion": "25.0.0"}, True),
        ({**CDI, "DiscoveredDevices": None}, False),
        (found("vendor.com/nic=0"), False),
        (found("nvidia.com/gpu=0"), True),
    ],
)
def test_when_cdi_is_used(info, cdi):
    assert payload.uses_cdi(info) is cdi


def test_cdi_devices_that_are_named_by_index_only():
    by_index = found("nvidia.com/gpu=0", "nvidia.com/gpu=1:0", "nvidia.com/gpu=all")
    assert payload.requests([GPUS[0], MIG], by_index)[0]["DeviceIDs"] == ["nvidia.com/gpu=0", "nvidia.com/gpu=1:0"]
    both = found("nvidia.com/gpu=0", f"nvidia.com/gpu={GPUS[0].uuid}")
    assert payload.requests(GPUS[:1], both)[0]["DeviceIDs"] == [f"nvidia.com/gpu={GPUS[0].uuid}"]


def test_the_environment():
    assert payload.environment([]) == {"CUDA_VISIBLE_DEVICES": ""}
    assert payload.container_environment([]) == {"NVIDIA_VISIBLE_DEVICES": "void"}
    assert payload.container_environment(GPUS) == {}
    assert payload.environment(GPUS) == {"CUDA_VISIBLE_DEVICES": f"{GPUS[0].uuid},{GPUS[1].uuid}"}
    shared = payload.environment(GPUS[:1], sharing=3)
    assert shared["XLA_PYTHON_CLIENT_MEM_FRACTION"] == "0.3"
    assert shared["CUPY_GPU_MEMORY_LIMIT"] == "30%"
    assert shared["TF_FORCE_GPU_ALLOW_GROWTH"] == "true"
    for sharing in range(2, 1001):
        fraction = float(payload.environment(GPUS, sharing=sharing)["XLA_CLIENT_MEM_FRACTION"])
        assert fraction * sharing <= 0.9 + 1e-9


@pytest.mark.parametrize(
    ("version", "told"), [("", False), ("2.9.1", False), ("3", False), ("2.10.0+cu126", True), ("3.0.0", True)]
)
def test_torch_is_told_only_where_it_understands(version, told):
    """An older one fails at the first use of a device when it is told a word that it does not know."""
    shared = payload.environment(GPUS, sharing=2, torch=version)
    assert shared.get("PYTORCH_CUDA_ALLOC_CONF") == ("per_process_memory_fraction:0.45" if told else None)


HOOK = "OCI runtime create failed: container init caused: Running hook #0:: error running hook: exit status 1, stderr: "


@pytest.mark.parametrize(
    ("message", "words"),
    [
        ('could not select device driver "nvidia" with capabilities: [[gpu compute utility]]', "Container Toolkit"),
        ('could not select device driver "cdi" with capabilities: []', "CDI is switched off"),
        ("CDI device injection failed: unresolvable CDI devices nvidia.com/gpu=GPU-1", "nvidia-ctk cdi generate"),
        ("unknown or invalid runtime name: nvidia", "runtime for GPUs is not installed"),
        (f"{HOOK}nvidia-container-cli: device error: GPU-1: unknown device: unknown", "was taken away"),
        (f"{HOOK}nvidia-container-cli: device error: unknown device id: 7", "was taken away"),
        ("error gathering device information while adding custom device: no such device", "was taken away"),
        (f"{HOOK}nvidia-container-cli: initialization error: nvml error: driver/library version mismatch", "Reboot"),
        (f"{HOOK}nvidia-container-cli: initialization error: nvml error: driver not loaded", "not loaded"),
        (
            f"{HOOK}nvidia-container-cli: initialization error: load library failed: libnvidia-ml.so.1: cannot open",
            "not loaded",
        ),
        (f"{HOOK}nvidia-container-cli: initialization error: driver rpc error: timed out", "did not answer in time"),
        (f"{HOOK}nvidia-container-cli: requirement error: unsatisfied condition: cuda>=12.4", "newer NVIDIA driver"),
        (f"{HOOK}nvidia-container-cli: container error: cgroup subsystem devices not found", "no-cgroups"),
        (
            f"{HOOK}nvidia-container-cli: mount error: failed to add device rules: bpf_prog_query(BPF_CGROUP_DEVICE)",
            "no-",
        ),
        ("failed to inject CDI devices: failed to stat CDI host device /dev/nvidia0: no such file", "cdi generate"),
        (f"{HOOK}nvidia-container-cli: something that is new", "container tools failed"),
    ],
)
def test_what_the_engine_says_of_devices(message, words):
    error = explain(message)
    assert isinstance(error, SandboxUnavailableError)
    assert words in str(error)
    assert message[-60:] in str(error)


@pytest.mark.parametrize(
    "message", ["no space left on device", "No such image: x", "invalid mount config", "context deadline exceeded", ""]
)
def test_what_is_about_something_else(message):
    assert explain(message) is None
    with pytest.raises(SandboxUnavailableError, match=r"^as it was$"), explaining(GPUS):
        raise SandboxUnavailableError("as it was")


def test_a_program_without_devices_has_no_errors_about_devices():
    with pytest.raises(SandboxUnavailableError, match=r"^no such device$"), explaining([]):
        raise SandboxUnavailableError("no such device")


@pytest.fixture(scope="module")
def empty_image(docker_engine: None) -> Iterator[str]:
    """An image with nothing in it: no container of it gets as far as a program."""
    name = f"openmle-env-test-{secrets.token_hex(4)}"
    with engine.connect() as client:
        client.api.import_image_from_data(bytes(1024), repository=name, tag="empty")
        yield f"{name}:empty"
        client.api.remove_image(f"{name}:empty", force=True)


@contextlib.contextmanager
def created(image: str, chosen: list[Device]):
    """A container with these devices, never started by this."""
    with engine.connect() as client:
        info = client.info()
        host = client.api.create_host_config(network_mode="none", device_requests=payload.requests(chosen, info))
        made = client.api.create_container(
            image,
            ["true"],
            host_config=host,
            labels=reaper.labels(60),
            environment={**payload.container_environment(chosen), **payload.environment(chosen)},
        )
        try:
            yield client, made["Id"], info
        finally:
            client.api.remove_container(made["Id"], force=True)


@pytest.mark.docker
def test_the_engine_keeps_the_request_as_it_is(empty_image):
    with created(empty_image, [*GPUS, MIG]) as (client, identity, info):
        found = client.api.inspect_container(identity)
        (request,) = found["HostConfig"]["DeviceRequests"]
        names = [item.uuid for item in [*GPUS, MIG]]
        if payload.uses_cdi(info):
            assert request["DeviceIDs"] == [f"nvidia.com/gpu={name}" for name in names]
        else:
            assert request["Driver"] == "nvidia"
            assert request["DeviceIDs"] == names
            assert request["Capabilities"] == [["gpu", "compute", "utility"]]
        assert f"CUDA_VISIBLE_DEVICES={','.join(names)}" in found["Config"]["Env"]
    with created(empty_image, []) as (client, identity, _):
        found = client.api.inspect_container(identity)
        assert not found["HostConfig"]["DeviceRequests"]
        assert "NVIDIA_VISIBLE_DEVICES=void" in found["Config"]["Env"]


@pytest.mark.docker
def test_an_engine_that_cannot_give_the_device_says_so_and_the_program_is_not_blamed(empty_image):
    """The devices exist nowhere, so that this fails on every machine, with a GPU or without."""
    with created(empty_image, GPUS) as (client, identity, info):
        with pytest.raises(SandboxUnavailableError) as caught, explaining(GPUS), engine.calling("start a container"):
            client.api.start(identity)
        if "nvidia" not in (info.get("Runtimes") or {}):
            assert str(caught.value).startswith(("The Docker engine cannot give GPUs", "The CDI description", "CDI is"))
        assert "The engine said: " in str(caught.value)
