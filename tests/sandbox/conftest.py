"""What the sandbox tests need of this machine: skipped where it is missing, a failure in CI."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, NoReturn

import pytest

from openmle_env.errors import SandboxUnavailableError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from openmle_env.sandbox.docker import DockerSandbox


@pytest.fixture(scope="session")
def unavailable() -> Callable[[str], NoReturn]:
    """Call it with what is missing: skips the test, but fails it in CI, where everything has to be there."""

    def stop(reason: str) -> NoReturn:
        if os.environ.get("CI", "").lower() in {"1", "true", "yes"}:
            pytest.fail(f"CI must run every test: {reason}", pytrace=False)
        pytest.skip(reason)

    return stop


@pytest.fixture(scope="session")
def docker_engine(unavailable: Callable[[str], NoReturn]) -> None:
    """A Docker engine that answers."""
    from openmle_env.sandbox import engine

    try:
        with engine.connect():
            pass
    except SandboxUnavailableError as error:
        unavailable(str(error))


@pytest.fixture(scope="session")
def docker_image(docker_engine: None) -> str:
    """Name of the sandbox image, built here unless it is up to date."""
    from openmle_env import settings
    from openmle_env.sandbox import image

    image.ensure()
    return settings.load().image


@pytest.fixture
def docker_sandbox(docker_image: str) -> Iterator[DockerSandbox]:
    """A Docker sandbox, closed at the end."""
    from openmle_env.sandbox.docker import DockerSandbox

    sandbox = DockerSandbox(docker_image)
    yield sandbox
    sandbox.close()
