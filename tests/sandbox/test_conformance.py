"""The conformance suite on our backends, in each way to run programs."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from openmle_env.sandbox import conformance
from openmle_env.sandbox.bubblewrap import BubblewrapSandbox
from openmle_env.sandbox.scripted import ScriptedSandbox
from openmle_env.types import Execution, ResultStatus

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from openmle_env.sandbox.protocol import Sandbox
    from openmle_env.types import Box

BACKENDS = ("docker", "bubblewrap")
CASES = (*conformance.PROGRAMS, *conformance.ISOLATION)
MANY_BOXES = ("a program that ends badly spoils no other", "ends of a process")
"""Where each program has a box of its own, these say little more than the cases, and take a box for each program."""


@pytest.fixture(scope="module")
def sandbox(request: pytest.FixtureRequest, usable: Callable[[str], None]) -> Iterator[Sandbox]:
    name, way = request.param
    if name == "docker":
        image = request.getfixturevalue("docker_image")
        from openmle_env.sandbox.docker import DockerSandbox

        made: Sandbox = DockerSandbox(image, warm=way)
    else:
        usable("bubblewrap")
        made = BubblewrapSandbox(warm=way)
    yield made
    made.close()


@pytest.fixture(scope="module")
def data() -> Iterator[Path]:
    with conformance.small_data() as folder:
        yield folder


def on(
    items: Callable[[str], Iterator[object]], ways: tuple[str, ...] = ("off", "single", "forked")
) -> pytest.MarkDecorator:
    """Parametrizes a test with each backend, each way, and what ``items`` has for the way."""
    parameters = [
        pytest.param(
            (name, way), item, id=f"{name}-{way}-{getattr(item, 'name', item)}", marks=getattr(pytest.mark, name)
        )
        for name in BACKENDS
        for way in ways
        for item in items(way)
    ]
    return pytest.mark.parametrize(("sandbox", "item"), parameters, indirect=["sandbox"])


@on(lambda way: iter(conformance.PROGRAMS if way == "single" else CASES))
def test_case(sandbox: Sandbox, item: conformance.Case, data: Path) -> None:
    result = conformance.check_case(sandbox, item, data, session="cases")
    assert result.passed, result.detail


@on(
    lambda way: (item for item in conformance.SESSIONS if way == "forked" or item.name not in MANY_BOXES),
    ("single", "forked"),
)
def test_session(sandbox: Sandbox, item: conformance.Session, data: Path) -> None:
    result = conformance.check_session(sandbox, item, data)
    assert result.passed, result.detail


@on(lambda _: iter(["apart"]), ("single", "forked"))
def test_two_sessions(sandbox: Sandbox, item: str, data: Path) -> None:
    del item
    result = conformance.check_apart(sandbox, data)
    assert result.passed, result.detail


@on(lambda _: iter([0.0, 1.0]))
def test_cancelling(sandbox: Sandbox, item: float, data: Path) -> None:
    result = conformance.check_cancelled(sandbox, data, seconds=item)
    assert result.passed, result.detail


class Forgetful(ScriptedSandbox):
    """Says the same of every program, in a box of one kind, and that it keeps boxes."""

    warm = "forked"


@pytest.mark.parametrize("box", ["fresh", "forked"])
def test_the_suite_notices_a_backend_that_only_says_so(data: Path, box: Box) -> None:
    said = Execution(status=ResultStatus.SUBMISSION_MISSING, exit_code=0, backend="scripted", box=box)
    sandbox = Forgetful(lambda job: said)
    results = [conformance.check_session(sandbox, session, data) for session in conformance.SESSIONS]
    assert not [result.name for result in (*results, conformance.check_apart(sandbox, data)) if result.passed]
