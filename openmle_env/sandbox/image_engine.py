"""The steps of making an image that the engine does: pulling, running, exporting and importing."""

from __future__ import annotations

import contextlib
import io
import json
import tempfile
from typing import TYPE_CHECKING, Any, cast

from openmle_env.errors import SandboxUnavailableError
from openmle_env.sandbox import engine, reaper

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from typing import IO

    from docker import DockerClient
    from docker.models.containers import Container

    from openmle_env.sandbox.recipes import Progress

PULL_SECONDS = 30
"""How long a registry may say nothing."""
BUILD_SECONDS = 1800
"""The longest that one step may take: importing an image, installing packages, or compiling and trying them."""
KEEP_SECONDS = 6 * 3600.0
"""When what a build that still lives has made counts as left behind."""


def attributes(client: DockerClient, name: str) -> dict[str, Any] | None:
    """What the engine knows of an image; None where it does not have it."""
    import docker.errors  # an extra, and slow to import

    with engine.calling(f"look up the image {name!r}"):
        try:
            return dict(client.images.get(name).attrs)
        except docker.errors.ImageNotFound:
            return None


def labels(client: DockerClient, name: str) -> dict[str, str] | None:
    """The labels of an image; None where the engine does not have it."""
    found = attributes(client, name)
    return None if found is None else dict((found.get("Config") or {}).get("Labels") or {})


def pull(name: str) -> None:
    """Have the engine fetch an image, the latest where no tag is named.

    Raises:
        SandboxUnavailableError: It cannot be had, or the registry does not answer.
    """
    with engine.connect(PULL_SECONDS) as client, engine.calling(f"pull {name}"):
        client.images.pull(name)


@contextlib.contextmanager
def container(client: DockerClient, image: str, command: Sequence[str], **options: Any) -> Iterator[Container]:
    """A container of a build: not started, without network, and removed at the end.

    Packages of strangers may be imported in it, as root where it compiles them: it is confined as far as that allows.
    """
    with engine.calling(f"make a container of {image}"):
        made = client.containers.create(
            image,
            [],
            entrypoint=list(command),  # whatever the image's own is
            network_mode="none",
            cap_drop=["ALL"],
            security_opt=["no-new-privileges"],
            labels=reaper.labels(KEEP_SECONDS),
            **options,
        )
    try:
        yield made
    finally:
        with engine.calling("remove the container of a build"):
            made.remove(v=True, force=True)


def run(made: Container, *, seconds: float) -> tuple[int, str]:
    """Start a container and wait for its end: its exit code, and the end of what it wrote."""
    with engine.calling("run a container of the sandbox image"):
        made.start()
        code = int(made.wait(timeout=seconds)["StatusCode"])
        return code, made.logs().decode("utf-8", "replace").strip()[-1500:]


@contextlib.contextmanager
def exported(client: DockerClient, image: str) -> Iterator[IO[bytes]]:
    """The file system of an image as a tar file."""
    with container(client, image, ["true"]) as made, tempfile.TemporaryFile() as file:
        chunks = export(made)
        while chunk := _next(chunks, f"export {image}"):
            file.write(chunk)
        file.seek(0)
        yield cast("IO[bytes]", file)


def export(made: Container) -> Iterator[bytes]:
    """The file system of a container, in chunks of a tar file."""
    with engine.calling("export a container"):
        return cast("Iterator[bytes]", iter(made.export()))  # its stub says str, wrongly


def _next(chunks: Iterator[bytes], what: str) -> bytes:
    with engine.calling(what):
        return next(chunks, b"")


def chunks(file: IO[bytes], report: Progress, *, begin: float, end: float) -> Iterator[bytes]:
    """A file in chunks, with the progress from ``begin`` to ``end`` reported."""
    size = file.seek(0, io.SEEK_END)
    file.seek(0)
    while chunk := file.read(1 << 20):
        report("importing into the engine", begin + (end - begin) * file.tell() / size)
        yield chunk


def import_layer(
    client: DockerClient, stream: Iterable[bytes], *, name: str | None = None, changes: Sequence[str]
) -> str:
    """Make an image of one layer from a tar stream; returns its id."""
    import docker.utils  # an extra, and slow to import

    repository, tag = docker.utils.parse_repository_tag(name) if name else (None, None)
    with engine.calling("import the sandbox image"):
        answer = client.api.import_image_from_data(stream, repository=repository, tag=tag, changes=list(changes))
    for line in answer.splitlines():
        status = json.loads(line)
        if "error" in status:
            said = str(status["error"])
            raise SandboxUnavailableError(
                f"The Docker engine could not import the sandbox image: {said.rstrip('.')}.{engine.advice_on(said)}"
            )
        if str(status.get("status", "")).startswith("sha256:"):
            made = str(status["status"])
            if name:
                _see_name(client, made, name)
            return made
    raise SandboxUnavailableError(f"The Docker engine did not say what it imported: {answer[-300:]!r}")


def _see_name(client: DockerClient, image: str, name: str) -> None:
    """See that a new image has its name; Podman 4 gives it the repository's, with the tag ``latest``."""
    import docker.utils  # an extra, and slow to import

    if (attributes(client, name) or {}).get("Id") == image:
        return
    repository, tag = docker.utils.parse_repository_tag(name)
    with engine.calling(f"name the image {name!r}"):
        client.api.tag(image, repository, tag)
        if (attributes(client, f"{repository}:latest") or {}).get("Id") == image:
            client.api.remove_image(f"{repository}:latest")


def remove(client: DockerClient, image: str) -> None:
    """Remove an image that nothing needs; one still in use stays for the reaper."""
    import docker.errors  # an extra, and slow to import

    with engine.calling(f"remove the image {image}"), contextlib.suppress(docker.errors.APIError):
        client.images.remove(image)
