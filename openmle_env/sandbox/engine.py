"""Reaching the Docker engine, and saying what to do where that fails. The only way in to the package `docker`.

What an engine is and can do is read off what it says of itself, in `openmle_env.sandbox.engine_facts`.
"""

from __future__ import annotations

import os
import re
import socket
import sys
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from openmle_env.errors import SandboxUnavailableError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from docker import DockerClient

CALL_SECONDS = 60
"""The longest that one call to the engine may take; an engine under load needs seconds to start a container."""

GREET_SECONDS = 10
"""How long an engine may take to answer at all."""

_MOST_SAID = 1000
"""Characters of an engine's error; some repeat all that they were given."""

LABEL = "openmle-env"
"""Prefix of the labels on everything that we make in the engine."""


@contextmanager
def connect(seconds: int = CALL_SECONDS) -> Iterator[DockerClient]:
    """A client of the engine that ``DOCKER_HOST``, the docker context or the usual sockets name, closed at the end.

    A client is not shared between threads: making one costs a few milliseconds.

    Args:
        seconds: Time limit of each call to the engine.

    Raises:
        SandboxUnavailableError: No engine answers, or the package ``docker`` is missing.
    """
    try:
        import docker  # an extra, and slow to import
    except ImportError as error:
        raise SandboxUnavailableError(
            f"The Docker sandbox needs the Python package 'docker'. Install it: {sys.executable} -m pip install docker"
        ) from error
    with _explained():
        environment = _environment()
        if environment.get("DOCKER_HOST", "").startswith("ssh://"):
            raise SandboxUnavailableError(
                f"The engine at {environment['DOCKER_HOST']} is on another machine, which cannot see the data on this "
                "one. Use an engine on this machine: unset DOCKER_HOST, or choose another context."
            )
        _knock(environment.get("DOCKER_HOST", ""))
        client = docker.DockerClient.from_env(timeout=GREET_SECONDS, environment=environment)
    with closing(client):
        client.api.timeout = seconds
        yield client


@contextmanager
def calling(what: str) -> Iterator[None]:
    """Turn any failure of an engine call into `SandboxUnavailableError`; ``what`` completes "could not ...".

    Raises:
        SandboxUnavailableError: The engine refused, did not answer in time, or went away.
    """
    import docker.errors  # an extra, and slow to import
    import requests  # comes with docker

    try:
        yield
    except docker.errors.APIError as error:
        said = str(error.explanation or error)
        said = said if len(said) <= _MOST_SAID else f"{said[: _MOST_SAID // 2]} ... {said[-_MOST_SAID // 2 :]}"
        raise SandboxUnavailableError(
            f"The Docker engine could not {what}: {said.rstrip('.')}.{advice_on(said)}"
        ) from error
    except (docker.errors.DockerException, requests.RequestException, OSError) as error:
        raise SandboxUnavailableError(
            f"The Docker engine went away or did not answer when asked to {what} ({_root(error)}). "
            "Check it with 'docker info'; restart it with 'sudo systemctl restart docker' where it does not answer."
        ) from error


def info(client: DockerClient) -> dict[str, Any]:
    """What the engine says of itself; `openmle_env.sandbox.engine_facts` reads it.

    Raises:
        SandboxUnavailableError: It failed.
    """
    with calling("say what it is"):
        return dict(client.info())


_ADVICE = {
    r"no space left on device|disk quota exceeded": (
        "There is no space left where the engine keeps images and containers: see 'openmle sandbox doctor', and free "
        "some with 'openmle sandbox prune'."
    ),
    r"bind source path does not exist|bind mount source|statfs .*no such file or directory": (
        "The engine does not see the files of this machine: it runs in another machine or container. Use an engine on "
        "this machine (unset DOCKER_HOST), or share these folders with it under the same paths."
    ),
    r"unknown or invalid runtime name|unknown runtime|no such runtime|runtime .* not found": (
        "Correct or unset OPENMLE_RUNTIME; 'openmle sandbox doctor' lists the runtimes that are registered."
    ),
    r"exec format error": (
        "The image was made for another kind of processor: build one here with 'openmle sandbox build'."
    ),
}
"""What helps, by what the engine says."""


def advice_on(said: str) -> str:
    """What to do about an error of the engine, as a sentence with a space before it; empty where nothing is known."""
    for pattern, advice in _ADVICE.items():
        if re.search(pattern, said, re.IGNORECASE):
            return f" {advice}"
    return ""


def _environment() -> dict[str, str]:
    """The variables that name the engine; a socket is always named, be it from a context or a rootless engine."""
    from docker.context import ContextAPI  # an extra, and slow to import

    environment = dict(os.environ)
    if environment.get("DOCKER_HOST"):
        return environment
    name = environment.get("DOCKER_CONTEXT")
    context = ContextAPI.get_context(name)
    if context is None:
        raise ValueError(f"there is no docker context {name!r}; 'docker context ls' lists them")
    host = str(context.Host or "").removeprefix("http+")
    if host.startswith("unix://") and not Path(host.removeprefix("unix://")).exists():
        runtime = environment.get("XDG_RUNTIME_DIR") or f"/run/user/{os.getuid()}"
        rootless = [Path(runtime, "docker.sock"), Path(os.path.expanduser("~/.docker/run/docker.sock"))]  # noqa: PTH111  no error where there is no home
        host = next((f"unix://{path}" for path in rootless if path.exists()), host)
    if host.startswith(("unix://", "ssh://")):
        environment["DOCKER_HOST"] = host
    return environment


def _knock(host: str) -> None:
    """Try the socket before the client does: the reason is plainer, and docker-py leaks a socket where it fails."""
    if host.startswith("unix://"):
        with socket.socket(socket.AF_UNIX) as knock:
            knock.settimeout(GREET_SECONDS)
            knock.connect(host.removeprefix("unix://"))
            knock.sendall(b"GET /_ping HTTP/1.0\r\n\r\n")  # an engine that is stopped takes connections all the same
            with knock.makefile("rb") as answer:
                if not answer.readline(1024):  # no more: some keep the connection open
                    raise ConnectionError("it closed the connection")


@contextmanager
def _explained() -> Iterator[None]:
    import docker.errors  # an extra, and slow to import
    import requests  # comes with docker

    try:
        yield
    except (docker.errors.DockerException, requests.RequestException, OSError, ValueError) as error:
        root = _root(error)
        if isinstance(root, PermissionError):
            raise SandboxUnavailableError(
                "The Docker engine's socket may not be opened by this user (permission denied). "
                "Run 'sudo usermod -aG docker $USER' and log in again, or use a rootless engine."
            ) from error
        where = os.environ.get("DOCKER_HOST") or "the default socket or docker context"
        raise SandboxUnavailableError(
            f"No Docker engine answers at {where} ({root}). "
            "Start it ('sudo systemctl start docker', or Docker Desktop), install it "
            "(https://docs.docker.com/engine/install), or set DOCKER_HOST to one that runs."
        ) from error


def _root(error: BaseException) -> BaseException:
    """The first cause of a chain of wrapped errors, also of those that wrap by argument (urllib3, requests)."""
    while True:
        inner = error.__cause__ or error.__context__
        inner = inner or next((item for item in error.args if isinstance(item, BaseException)), None)
        if inner is None:
            return error
        error = inner
