"""Fixtures of the environments' tests: a tiny task, a sandbox that obeys, a folder to keep things in."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from openmle_env.envs.task_env import TaskEnv
from tests.envs.tiny import Box, make_pack

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("OPENMLE_HOME", str(tmp_path / "home"))
    monkeypatch.setattr("openmle_env.envs.runner.RETRY_PAUSES", (0.001,))
    return tmp_path / "home"


@pytest.fixture
def pack(tmp_path: Path) -> Path:
    return make_pack(tmp_path / "packs")


@pytest.fixture
def box() -> Box:
    return Box()


@pytest.fixture
def make_env(pack: Path, box: Box) -> Callable[..., TaskEnv]:
    def make(**arguments: object) -> TaskEnv:
        return TaskEnv(pack, **{"sandbox": box, **arguments})

    return make
