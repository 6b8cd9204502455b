"""Finding devices through nvidia-smi, and choosing among them."""

from __future__ import annotations

import pytest

from openmle_env.errors import SandboxUnavailableError, UnknownNameError, UsageError
from openmle_env.sandbox.gpus import devices, usage
from openmle_env.sandbox.gpus import smi as program
from openmle_env.sandbox.gpus.devices import Device
from tests.sandbox.gpus.standin import gpu

PARTS = [
    {"uuid": "MIG-aaaa1111", "profile": "1g.18gb", "total": 16384, "used": 11},
    {"uuid": "MIG-bbbb2222", "profile": "2g.35gb", "total": 33280, "used": 12, "processes": [[4242, "python3"]]},
]


def test_gpus(smi):
    first, second = devices.find()
    assert first == Device(
        uuid="GPU-00000000-0000", name="NVIDIA H200", memory_mb=143771, kind="gpu", index="0", parent=""
    )
    assert (second.uuid, second.index) == ("GPU-00000001-0000", "1")


def test_a_divided_gpu_is_its_instances(smi):
    smi.set(gpus=[gpu(0), gpu(1, parts=PARTS), gpu(2, parts=[])])
    found = devices.find()
    assert [(item.uuid, item.kind, item.index, item.memory_mb) for item in found] == [
        ("GPU-00000000-0000", "gpu", "0", 143771),
        ("MIG-aaaa1111", "mig", "1:0", 16384),
        ("MIG-bbbb2222", "mig", "1:1", 33280),
    ]
    assert found[2].name == "NVIDIA H200 MIG 2g.35gb"
    seen = usage.look(found)
    assert [seen[item.uuid].used_mb for item in found] == [4, 11, 12]
    assert [len(seen[item.uuid].processes) for item in found] == [0, 0, 1]
    assert "4242 (python3)" in next(iter(seen["MIG-bbbb2222"].processes.values()))


def test_a_driver_from_before_mig(smi):
    smi.set(gpus=[gpu(0)], unknown_fields=["mig.mode.current"])
    assert [item.kind for item in devices.find()] == ["gpu"]


def test_memory_that_the_driver_does_not_tell(smi):
    smi.set(gpus=[gpu(0, total="[N/A]", used="[N/A]"), gpu(1, used="[GPU requires reset]")])
    found = devices.find()
    assert found[0].memory_mb == 0
    seen = usage.look(found)
    assert seen[found[0].uuid] == usage.Usage(used_mb=None, processes={})
    assert seen[found[1].uuid].trouble == "GPU requires reset"


def test_a_device_that_is_gone(smi):
    found = devices.find()
    smi.set(gpus=[gpu(0)])
    assert usage.look(found)[found[1].uuid].trouble


def test_no_devices(smi):
    smi.set(gpus=[])
    assert devices.find() == ()
    assert devices.chosen("all") == ()


def test_without_nvidia_smi_it_says_what_to_install(monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(SandboxUnavailableError, match=r"no nvidia-smi on PATH.*Install the NVIDIA driver"):
        devices.chosen("all")
    assert devices.chosen("none") == ()


@pytest.mark.parametrize(
    ("said", "remedy"),
    [
        ("Failed to initialize NVML: Driver/library version mismatch", "reboot"),
        ("NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver.", "modprobe nvidia"),
        ("Failed to initialize NVML: Insufficient Permissions", "/dev/nvidia"),
        ("Failed to initialize NVML: Something new", "by hand"),
        ("", "exit code 9"),
    ],
)
def test_a_driver_that_fails(smi, said, remedy):
    smi.set(gpus=[], fail=said)
    with pytest.raises(SandboxUnavailableError, match=remedy) as caught:
        devices.find()
    assert said in str(caught.value)


def test_a_driver_that_hangs(smi, monkeypatch):
    monkeypatch.setattr(program, "SECONDS", 0.3)
    smi.set(gpus=[gpu(0)], sleep=60)
    with pytest.raises(SandboxUnavailableError, match=r"did not answer within 0\.3 s"):
        devices.find()


def test_a_program_that_cannot_be_started(smi):
    (smi.folder / "nvidia-smi").write_text("#!/no/such/interpreter\n")
    with pytest.raises(SandboxUnavailableError, match="could not be started"):
        devices.find()


def test_what_is_no_xml(smi):
    (smi.folder / "nvidia-smi").write_text("#!/bin/sh\necho '<gpu'\n")
    with pytest.raises(SandboxUnavailableError, match="no XML"):
        program.tree()


@pytest.mark.parametrize(
    ("setting", "indices"),
    [
        ("all", ["0", "1:0", "1:1"]),
        ("ALL", ["0", "1:0", "1:1"]),
        ("none", []),
        (" , ", []),
        ("0", ["0"]),
        ("1", ["1:0", "1:1"]),
        ("1:1, 0", ["0", "1:1"]),
        ("GPU-00000000-0000", ["0"]),
        ("gpu-00000001-0000", ["1:0", "1:1"]),
        ("MIG-aaaa", ["1:0"]),
        ("bbbb", ["1:1"]),
    ],
)
def test_choosing(smi, monkeypatch, setting, indices):
    smi.set(gpus=[gpu(0), gpu(1, parts=PARTS)])
    monkeypatch.setenv("OPENMLE_GPUS", setting)
    assert [item.index for item in devices.chosen()] == indices


@pytest.mark.parametrize("word", ["2", "GPU-ffff", "bbb", "1:7", "0000-0000-9"])
def test_one_that_does_not_exist_is_named_with_those_that_do(smi, word):
    with pytest.raises(UnknownNameError) as caught:
        devices.chosen(f"0,{word}")
    assert repr(word) in str(caught.value)
    assert "0 (GPU-00000000-0000, NVIDIA H200), 1 (GPU-00000001-0000" in str(caught.value)
    assert "OPENMLE_GPUS" in str(caught.value)


def test_a_beginning_that_fits_two(smi):
    with pytest.raises(UsageError, match=r"'GPU-0000' fits several GPUs: 0 \(.*, 1 \("):
        devices.chosen("GPU-0000")
