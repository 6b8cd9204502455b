"""The same twelve programs have the same statuses on both real backends, graded ones included."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from openmle_env.baselines import statuses

if TYPE_CHECKING:
    from pathlib import Path

    from openmle_env.sandbox.protocol import Sandbox


def check(sandbox: Sandbox) -> None:
    played = list(statuses.play(sandbox))
    assert [(one.name, one.outcome.status) for one in played] == [(one.name, one.expected) for one in played]
    assert len(played) == 12
    assert {one.outcome.execution.backend for one in played} == {sandbox.name}


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENMLE_HOME", str(tmp_path / "home"))


@pytest.mark.bubblewrap
def test_twelve_programs_in_bubblewrap(bubblewrap: Sandbox) -> None:
    check(bubblewrap)


@pytest.mark.docker
def test_twelve_programs_in_docker(docker_sandbox: Sandbox) -> None:
    check(docker_sandbox)
