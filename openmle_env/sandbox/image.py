"""Making the image that the Docker backend runs, and knowing which one is this environment's.

The image is put together here and imported as one flat layer; nothing is installed inside a build. So it needs no
network and no certificate where an interpreter is at hand, holds exactly the libraries of this environment (both
sandboxes give equal results), and has no layer in which a deleted file still lies.
"""

from __future__ import annotations

import argparse
import contextlib
import functools
import hashlib
import io
import json
import re
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from openmle_env import settings
from openmle_env.errors import DiskFullError, OpenMLEError, SandboxUnavailableError, UsageError
from openmle_env.files import is_full
from openmle_env.sandbox import engine, image_parts, layout, packages, reaper
from openmle_env.types import Fault

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from typing import IO

    from docker import DockerClient
    from docker.models.containers import Container

    Progress = Callable[[str, float], None]

_MODULES = ("numpy", "pandas", "scipy", "sklearn", "sklearn.ensemble", "sklearn.pipeline", "sklearn.compose")
"""Imported inside the new image before it gets its name."""
_BASE_LABEL = f"{engine.LABEL}.base"
_PULL_SECONDS = 30
_BUILD_SECONDS = 1800
"""The longest that one step may take: importing an image, or compiling and trying it."""
_KEEP_SECONDS = 6 * 3600.0
"""When what a build that still lives has made counts as left behind."""
_TRIAL = """
import compileall, importlib, py_compile, sys
for folder in sys.path:
    compileall.compile_dir(folder, quiet=2, workers=0, invalidation_mode=py_compile.PycInvalidationMode.UNCHECKED_HASH)
for name in sys.argv[1:]:
    importlib.import_module(name)
"""


REPOSITORY = "openmle-env-sandbox"
"""Name of the images that environments make for themselves; the tag is the recipe."""
_NAME = re.compile(r"([A-Za-z0-9.-]+(:\d+)?/)?[a-z0-9][a-z0-9._/-]*(:\w[\w.-]*)?(@sha256:[0-9a-f]{64})?", re.ASCII)
COMMAND = "python -m openmle_env.sandbox.image"
"""What makes an image."""


@functools.cache
def recipe() -> str:
    """Hash of all that decides what is in the image: the library versions, the interpreter's, and the code here."""
    versions = sorted((item.metadata["Name"], item.version) for item in packages.distributions())
    code = [Path(path).read_text(encoding="utf-8") for path in (__file__, image_parts.__file__, packages.__file__)]
    text = json.dumps([versions, sys.version_info[:3], code], sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()


def chosen(name: str | None = None) -> str:
    """This name, else the one of the settings, else the image of this environment.

    That one is named by its recipe, so that environments do not overwrite each other's, and one that was made of other
    libraries than are installed now is never used.

    Raises:
        UsageError: No image can have this name.
        SandboxUnavailableError: A required library is not installed in this environment.
    """
    name = name or settings.load().image or f"{REPOSITORY}:{recipe()[:12]}"
    if not _NAME.fullmatch(name):
        raise UsageError(
            f"{name!r} cannot be the name of an image. Correct OPENMLE_IMAGE or --name: lower-case letters, digits and "
            "'.-_/', such as 'my-sandbox:1'."
        )
    return name


def advice(name: str) -> str:
    """What to do where the engine lacks this image."""
    own = name.startswith(f"{REPOSITORY}:")
    return f"Build it: {COMMAND}" if own else f"Build it: {COMMAND} --name {name}, or unset OPENMLE_IMAGE."


def exists(name: str | None = None) -> bool:
    """Whether the engine has the image (see `chosen`).

    Raises:
        SandboxUnavailableError: No engine answers.
    """
    name = chosen(name)
    with engine.connect() as client:
        return _labels(client, name) is not None


def ensure(name: str | None = None, *, progress: Progress | None = None) -> str:
    """Build the image unless the engine has the one of this recipe; returns the image's id.

    Raises:
        SandboxUnavailableError: No engine answers, or the image could not be made.
    """
    name = chosen(name)
    with engine.connect() as client:
        labels = _labels(client, name)
        if labels is not None and labels.get(reaper.RECIPE_LABEL) == recipe():
            with engine.calling(f"look up the image {name!r}"):
                return str(client.images.get(name).id)
    return build(name, progress=progress)


def build(name: str | None = None, *, base: str = "auto", progress: Progress | None = None) -> str:
    """Build the image and give it its name once it was seen to work; returns its id.

    Args:
        name: The image's name; by default, see `chosen`.
        base: ``auto`` (the official slim Python image where the engine has it or can pull it, else ``host``), ``host``
            (the running interpreter and the shared libraries it needs; Linux only), or the name of an image that has
            this Python's minor version.
        progress: Called with what is being done and the fraction done, 0 to 1.

    Raises:
        SandboxUnavailableError: No engine answers, the base cannot be had, or the image does not work.
        DiskFullError: There is no space for the image's files.
    """
    name = chosen(name)
    report = progress or (lambda _text, _fraction: None)
    libraries = packages.distributions()
    with (
        _space(),
        engine.connect(_BUILD_SECONDS) as client,
        tempfile.TemporaryFile() as file,
        tempfile.TemporaryDirectory() as folder,
    ):
        report("choosing the base", 0.0)
        base = _choose(client, base)
        machine = _machine(client)
        if base != "host" and not all(image_parts.portable(item, machine) for item in libraries):
            report("fetching Linux wheels", 0.05)
            image_parts.fetch(libraries, machine, Path(folder))
            libraries = image_parts.unpacked(Path(folder))
        report(f"copying {len(libraries)} libraries", 0.1)
        layer = image_parts.Layer(cast("IO[bytes]", file))
        extensions = image_parts.add_libraries(layer, libraries)
        report(f"copying the base ({base})", 0.3)
        if base == "host":
            interpreter = image_parts.add_interpreter(layer, extensions)
        else:
            with _exported(client, base) as stream:
                interpreter = image_parts.add_exported(layer, stream)
        image_parts.add_environment(layer, interpreter)
        layer.close()
        chunks = _chunks(cast("IO[bytes]", file), report)
        raw = _import(client, chunks, changes=reaper.image_changes(_KEEP_SECONDS))
        try:
            report("compiling and trying the libraries", 0.6)
            image = _finish(client, raw, name=name, base=base)
        finally:
            _remove(client, raw)
        report("done", 1.0)
        with contextlib.suppress(SandboxUnavailableError):  # the image is there, whatever else lies around
            reaper.collect(client)
    return image


@contextlib.contextmanager
def _space() -> Iterator[None]:
    try:
        yield
    except OSError as error:
        if not is_full(error):
            raise
        raise DiskFullError(
            f"No space is left below {tempfile.gettempdir()!r}, where the image is put together; it needs about 1 GB. "
            "Set TMPDIR to a folder with more space."
        ) from error


def _labels(client: DockerClient, name: str) -> dict[str, str] | None:
    """The labels of an image, or None where the engine does not have it."""
    import docker.errors  # an extra, and slow to import

    with engine.calling(f"look up the image {name!r}"):
        try:
            return dict(client.images.get(name).labels)
        except docker.errors.ImageNotFound:
            return None


def _choose(client: DockerClient, base: str) -> str:
    if base == "host":
        return base
    wanted = f"python:{image_parts.PYTHON.removeprefix('python')}-slim" if base == "auto" else base
    if _labels(client, wanted) is not None:
        return wanted
    try:
        with engine.connect(_PULL_SECONDS) as puller, engine.calling(f"pull {wanted}"):
            puller.images.pull(wanted)
    except SandboxUnavailableError as error:
        if base != "auto":
            raise SandboxUnavailableError(
                f"{error} Use --base host to build from this machine's own interpreter."
            ) from error
        return "host"
    return wanted


def _machine(client: DockerClient) -> str:
    """The engine's machine type, as wheels name it."""
    with engine.calling("say what machine it runs on"):
        architecture = str(client.version()["Arch"])
    return {"amd64": "x86_64", "arm64": "aarch64"}.get(architecture, architecture)


@contextlib.contextmanager
def _container(client: DockerClient, image: str, command: Sequence[str], **options: Any) -> Iterator[Container]:
    """A container of a build: not started, without network, and removed at the end."""
    with engine.calling(f"make a container of {image}"):
        container = client.containers.create(
            image, list(command), network_mode="none", labels=reaper.labels(_KEEP_SECONDS), **options
        )
    try:
        yield container
    finally:
        with engine.calling("remove the container of a build"):
            container.remove(v=True, force=True)


@contextlib.contextmanager
def _exported(client: DockerClient, base: str) -> Iterator[IO[bytes]]:
    """The file system of an image as a tar file."""
    with _container(client, base, ["true"]) as container, tempfile.TemporaryFile() as file:
        chunks = _export(container)
        while chunk := _next(chunks, f"export {base}"):
            file.write(chunk)
        file.seek(0)
        yield cast("IO[bytes]", file)


def _export(container: Container) -> Iterator[bytes]:
    with engine.calling("export a container"):
        return cast("Iterator[bytes]", iter(container.export()))  # its stub says str, wrongly


def _next(chunks: Iterator[bytes], what: str) -> bytes:
    with engine.calling(what):
        return next(chunks, b"")


def _chunks(file: IO[bytes], report: Progress) -> Iterator[bytes]:
    size = file.seek(0, io.SEEK_END)
    file.seek(0)
    while chunk := file.read(1 << 20):
        report("importing into the engine", 0.4 + 0.2 * file.tell() / size)
        yield chunk


def _import(client: DockerClient, chunks: Iterable[bytes], *, name: str | None = None, changes: Sequence[str]) -> str:
    """Make an image of one layer from a tar stream; returns its id."""
    import docker.utils  # an extra, and slow to import

    repository, tag = docker.utils.parse_repository_tag(name) if name else (None, None)
    with engine.calling("import the sandbox image"):
        answer = client.api.import_image_from_data(chunks, repository=repository, tag=tag, changes=list(changes))
    for line in answer.splitlines():
        status = json.loads(line)
        if "error" in status:
            raise SandboxUnavailableError(f"The Docker engine could not import the sandbox image: {status['error']}")
        if str(status.get("status", "")).startswith("sha256:"):
            return str(status["status"])
    raise SandboxUnavailableError(f"The Docker engine did not say what it imported: {answer[-300:]!r}")


def _finish(client: DockerClient, raw: str, *, name: str, base: str) -> str:
    """Compile the sources where programs cannot write, see that all imports, and only then give the image its name."""
    changes = [
        f'ENV PATH="{layout.VENV}/bin:/usr/local/bin:/usr/bin:/bin"',
        "WORKDIR /work",
        f"USER {layout.USER}:{layout.USER}",
        f'CMD ["{layout.PYTHON}"]',
        f"LABEL {reaper.RECIPE_LABEL}={recipe()}",
        f"LABEL {_BASE_LABEL}={base}",
    ]
    command = [layout.PYTHON, "-I", "-c", _TRIAL, *_MODULES]
    with _container(client, raw, command, user="0:0") as container:
        with engine.calling("try the sandbox image"):
            container.start()
            code = container.wait(timeout=_BUILD_SECONDS)["StatusCode"]
            if code:
                said = container.logs().decode("utf-8", "replace").strip()[-1500:]
                raise SandboxUnavailableError(
                    f"The new sandbox image does not work (base {base!r}, exit code {code}): {said}\n"
                    "Choose another base with --base."
                )
        return _import(client, _export(container), name=name, changes=changes)


def _remove(client: DockerClient, image: str) -> None:
    """Remove an image that nothing needs; one still in use stays for the reaper."""
    import docker.errors  # an extra, and slow to import

    with engine.calling(f"remove the image {image}"), contextlib.suppress(docker.errors.APIError):
        client.images.remove(image)


def made_for_others() -> list[str]:
    """Names of the images that were named by another recipe than this environment's.

    Raises:
        SandboxUnavailableError: No engine answers.
    """
    with engine.connect() as client, engine.calling("list its images"):
        found = client.api.images(REPOSITORY, filters={"label": reaper.RECIPE_LABEL})
    names = {name for item in found for name in item["RepoTags"] or ()}
    return sorted(names - {f"{REPOSITORY}:{recipe()[:12]}", f"{REPOSITORY}:<none>"})


def main(arguments: Sequence[str] | None = None) -> int:
    """The command `COMMAND`: build the image, with a progress bar; returns the exit code."""
    from rich.progress import Progress as Bar  # only this command needs it

    parser = argparse.ArgumentParser(prog=COMMAND, description="Build the image of the Docker sandbox.")
    parser.add_argument("--name", help="name of the image (default: OPENMLE_IMAGE, or one named by its contents)")
    parser.add_argument("--base", help="auto, host, or the name of an image with this Python's minor version")
    parser.add_argument("--force", action="store_true", help="build even where the image is up to date")
    options = parser.parse_args(arguments)
    try:
        with Bar() as bar:
            task = bar.add_task("looking at the image", total=1.0)

            def report(text: str, fraction: float) -> None:
                bar.update(task, description=text, completed=fraction)

            if options.force or options.base:
                image = build(options.name, base=options.base or "auto", progress=report)
            else:
                image = ensure(options.name, progress=report)
                bar.update(task, completed=1.0)
    except OpenMLEError as error:
        sys.stderr.write(f"{error}\n")
        return 3 if error.fault is Fault.INFRASTRUCTURE else 2
    sys.stdout.write(f"{chosen(options.name)} is {image}\n")
    others = []
    with contextlib.suppress(SandboxUnavailableError):  # the image is there all the same
        others = made_for_others()
    if others:
        sys.stdout.write(
            "Images of other environments, or of this one before it changed; those that nothing needs can be removed:\n"
            f"docker rmi {' '.join(others)}\n"
        )
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
