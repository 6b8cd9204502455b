"""A run that asks for a GPU which the engine cannot give: the machine's failure, and nothing is left of it."""

from __future__ import annotations

import os

import pytest

from openmle_env.errors import SandboxUnavailableError
from openmle_env.sandbox import engine, reaper
from openmle_env.types import Fault, Job, Limits


@pytest.mark.docker
def test_the_program_is_not_blamed_and_nothing_is_left(smi, folder, docker_sandbox):
    with pytest.raises(SandboxUnavailableError, match="The engine said: ") as caught:
        docker_sandbox.run(Job(program="print(1)", limits=Limits(gpus=1)))
    assert caught.value.fault is Fault.INFRASTRUCTURE
    assert list(folder.glob("request-*")) == []
    owner = f"{reaper.OWNER_LABEL}={reaper.owner(os.getpid())}"
    with engine.connect() as client:
        assert client.api.containers(all=True, filters={"label": owner}) == []


@pytest.mark.docker
def test_without_a_driver_it_says_what_to_install(monkeypatch, tmp_path, docker_sandbox):
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(SandboxUnavailableError, match="Install the NVIDIA driver"):
        docker_sandbox.run(Job(program="print(1)", limits=Limits(gpus=1)))
