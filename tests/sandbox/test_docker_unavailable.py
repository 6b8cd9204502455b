"""What a user is told where there is no usable engine. Needs no engine."""

from __future__ import annotations

import hashlib
import json
import re
import sys

import pytest

from openmle_env.errors import SandboxUnavailableError
from openmle_env.sandbox import engine
from openmle_env.sandbox.docker import DockerSandbox
from openmle_env.types import Job


@pytest.fixture
def no_engine(monkeypatch, tmp_path):
    monkeypatch.setenv("DOCKER_HOST", f"unix://{tmp_path}/no.sock")
    return f"unix://{tmp_path}/no.sock"


def test_a_run_without_an_engine_says_where_it_looked_and_what_to_do(no_engine):
    with pytest.raises(SandboxUnavailableError, match="No Docker engine answers") as caught:
        DockerSandbox().run(Job(program="1"))
    assert no_engine in str(caught.value)
    assert "docs.docker.com" in str(caught.value)


@pytest.mark.parametrize("host", ["tcp://127.0.0.1:1", "bogus://x", "unix:///dev/null"])
def test_any_host_that_does_not_answer_gives_the_same_kind_of_error(monkeypatch, host):
    monkeypatch.setenv("DOCKER_HOST", host)
    with pytest.raises(SandboxUnavailableError, match="No Docker engine answers"), engine.connect():
        pass


def test_an_engine_behind_ssh_is_refused_in_words(monkeypatch):
    monkeypatch.setenv("DOCKER_HOST", "ssh://somebody@far")
    with pytest.raises(SandboxUnavailableError, match=r"ssh://somebody@far is on another machine"), engine.connect():
        pass


def test_an_engine_behind_ssh_is_refused_in_words_also_where_a_context_names_it(monkeypatch, tmp_path):
    monkeypatch.delenv("DOCKER_HOST", raising=False)
    monkeypatch.setenv("DOCKER_CONTEXT", "far")
    monkeypatch.setenv("DOCKER_CONFIG", str(tmp_path))
    folder = tmp_path / "contexts" / "meta" / hashlib.sha256(b"far").hexdigest()
    folder.mkdir(parents=True)
    (tmp_path / "config.json").write_text("{}")
    endpoint = {"Host": "ssh://somebody@far", "SkipTLSVerify": False}
    document = {"Name": "far", "Metadata": {}, "Endpoints": {"docker": endpoint}}
    (folder / "meta.json").write_text(json.dumps(document))
    with pytest.raises(SandboxUnavailableError, match=r"ssh://somebody@far is on another machine"), engine.connect():
        pass


def test_an_unknown_context_is_named(monkeypatch, tmp_path):
    monkeypatch.delenv("DOCKER_HOST", raising=False)
    monkeypatch.setenv("DOCKER_CONTEXT", "nowhere")
    monkeypatch.setenv("DOCKER_CONFIG", str(tmp_path))
    with pytest.raises(SandboxUnavailableError, match="nowhere"), engine.connect():
        pass


def test_permission_denied_is_told_from_absence(monkeypatch, no_engine):
    def refuse(host):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(engine, "_knock", refuse)
    with pytest.raises(SandboxUnavailableError, match="usermod -aG docker"), engine.connect():
        pass


def test_a_missing_package_names_the_command_of_this_python(monkeypatch):
    monkeypatch.setitem(sys.modules, "docker", None)
    with (
        pytest.raises(SandboxUnavailableError, match=rf"{re.escape(sys.executable)} -m pip install docker"),
        engine.connect(),
    ):
        pass
