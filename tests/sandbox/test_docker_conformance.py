"""The conformance suite on the Docker backend."""

from __future__ import annotations

import pytest

from openmle_env.sandbox import conformance

pytestmark = pytest.mark.docker


@pytest.fixture(scope="module")
def data():
    with conformance.small_data() as folder:
        yield folder


@pytest.mark.parametrize("case", [*conformance.PROGRAMS, *conformance.ISOLATION], ids=lambda case: case.name)
def test_case(docker_sandbox, data, case):
    result = conformance.check_case(docker_sandbox, case, data)
    assert result.passed, result.detail


@pytest.mark.parametrize("seconds", [0.0, 3.0])
def test_cancelling(docker_sandbox, data, seconds):
    result = conformance.check_cancelled(docker_sandbox, data, seconds=seconds)
    assert result.passed, result.detail
