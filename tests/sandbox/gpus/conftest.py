"""A machine with two GPUs that are not there, and a folder of leases of the tests' own."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from openmle_env.sandbox.gpus import places
from tests.sandbox.gpus.standin import StandIn

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def smi(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> StandIn:
    """Two GPUs, told by a stand-in for nvidia-smi."""
    standin = StandIn(tmp_path / "bin")
    monkeypatch.setenv("PATH", f"{standin.folder}:{os.environ['PATH']}")
    return standin


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of leases, not made yet; no test may reach the machine's own."""
    parent = tmp_path / "lock"
    parent.mkdir()
    parent.chmod(0o1777)
    monkeypatch.setattr(places, "PARENTS", (parent,))
    return parent / places.NAME
