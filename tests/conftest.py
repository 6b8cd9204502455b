"""What tests need of this machine: skipped where it is missing, a failure in CI."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, NoReturn

import pytest
from hypothesis import settings as hypothesis_settings

from openmle_env.errors import SandboxUnavailableError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from openmle_env.sandbox.bubblewrap import BubblewrapSandbox
    from openmle_env.sandbox.docker import DockerSandbox


# No test may fail by the machine's speed, and in CI none by luck: elsewhere, each run tries other examples.
hypothesis_settings.register_profile("explore", deadline=None)
hypothesis_settings.register_profile("ci", deadline=None, derandomize=True)
hypothesis_settings.load_profile("ci" if os.environ.get("CI") else "explore")


def pytest_addoption(parser: pytest.Parser) -> None:
    """The whole suite of attacks, rather than each program one of two ways on each backend."""
    parser.addoption("--every-way", action="store_true", help="run each hostile program each way on each backend")


@pytest.fixture(scope="session", autouse=True)
def settings_of_the_tests(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Whatever the settings of the machine are, tests keep their data in folders of their own."""
    with pytest.MonkeyPatch.context() as patch:
        for name in [name for name in os.environ if name.startswith("OPENMLE_")]:
            patch.delenv(name)
        patch.setenv("OPENMLE_HOME", str(tmp_path_factory.mktemp("home")))
        patch.setenv("OPENMLE_RUNS", str(tmp_path_factory.mktemp("runs")))
        yield


@pytest.fixture(scope="session")
def unavailable() -> Callable[[str], NoReturn]:
    """Call it with what is missing: skips the test, but fails it in CI, where everything has to be there."""

    def stop(reason: str) -> NoReturn:
        if os.environ.get("CI", "").lower() in {"1", "true", "yes"}:
            pytest.fail(f"CI must run every test: {reason}", pytrace=False)
        pytest.skip(reason)

    return stop


@pytest.fixture(scope="session")
def usable(unavailable: Callable[[str], NoReturn]) -> Callable[[str], None]:
    """Call it with a backend's name: skips the test where that does not work, and fails it in CI."""
    from openmle_env.sandbox import select

    def check(name: str) -> None:
        report = next(report for report in select.survey() if report.name == name)
        if not report.usable:
            unavailable(f"{report.reason} {report.remedy}")

    return check


@pytest.fixture
def bubblewrap(usable: Callable[[str], None]) -> Iterator[BubblewrapSandbox]:
    """A bubblewrap sandbox, closed at the end."""
    from openmle_env.sandbox.bubblewrap import BubblewrapSandbox

    usable("bubblewrap")
    sandbox = BubblewrapSandbox()
    yield sandbox
    sandbox.close()


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
    from openmle_env.sandbox import image, image_build

    image_build.ensure()
    return image.chosen()


@pytest.fixture
def docker_sandbox(docker_image: str) -> Iterator[DockerSandbox]:
    """A Docker sandbox, closed at the end."""
    from openmle_env.sandbox.docker import DockerSandbox

    sandbox = DockerSandbox(docker_image)
    yield sandbox
    sandbox.close()
