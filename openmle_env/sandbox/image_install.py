"""Adding packages to an image: the context of ``Dockerfile``, its build by the engine, and what is kept of the result.

Neither certificates nor addresses of indexes are arguments of the build, which its history would show; they are files
of the context, and the images on the way, which hold them, are removed whatever happens.
"""

from __future__ import annotations

import contextlib
import io
import os
import re
import secrets
import sys
import tarfile
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, cast

from openmle_env.errors import SandboxUnavailableError
from openmle_env.sandbox import engine, image_engine, image_parts, packages, pip, reaper, recipes
from openmle_env.sandbox.requirements import canonical

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import IO

    from docker import DockerClient

    from openmle_env.sandbox.pip import Source
    from openmle_env.sandbox.recipes import Progress
    from openmle_env.sandbox.requirements import Requirements

BUILD_LABEL = f"{engine.LABEL}.build"
FOLDER = "build"
"""Of the context."""
REPLACED_FOR_CUDA = ("torch", "torchvision", "torchaudio", "triton")
"""Libraries of this environment that may be built for CPUs only, and then give way to others."""
_PROXIES = ("http_proxy", "https_proxy", "no_proxy", "HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY")
_NO_NETWORK = r"failed to create endpoint|could not find bridge|network bridge not found|operation not supported"
_STEPS = re.compile(r"\s*(Collecting|Downloading|Installing collected packages|Processing)\b.*")


@contextlib.contextmanager
def installed(
    client: DockerClient, base: str, requirements: Requirements, source: Source, *, cuda: bool, report: Progress
) -> Iterator[IO[bytes]]:
    """The file system of an image with further packages, as a tar file of what may stay in it.

    Raises:
        UsageError: pip has no such packages, they contradict the libraries of this environment, or a hash is wrong.
        SandboxUnavailableError: The engine, the network or pip failed.
        DiskFullError: There is no space.
    """
    label = secrets.token_hex(8)
    with tempfile.TemporaryFile() as file, tempfile.TemporaryFile() as result:
        report("preparing pip", 0.05)
        context(cast("IO[bytes]", file), requirements, source, cuda=cuda)
        try:
            image = _build(client, cast("IO[bytes]", file), base, label, source, cuda=cuda, report=report)
            report("taking out what may not stay", 0.3)
            layer = image_parts.Layer(cast("IO[bytes]", result), keep_compiled=True)
            with image_engine.exported(client, image) as stream:
                image_parts.add_filtered(layer, stream)
            layer.close()
        finally:
            _forget(client, label)
        yield cast("IO[bytes]", result)


def context(file: IO[bytes], requirements: Requirements, source: Source, *, cuda: bool = False) -> None:
    """Write the context of the build: a tar file with ``Dockerfile`` and the folder that it describes.

    Raises:
        UsageError: A wheel or the certificates cannot be read.
        SandboxUnavailableError: This environment has no pip.
    """
    source.check()
    with tempfile.TemporaryDirectory() as folder:
        archive = Path(folder, "pip.zip")
        pip.archive(archive)
        _write(file, archive, requirements, source, cuda=cuda)
    file.seek(0)


def _write(file: IO[bytes], archive: Path, requirements: Requirements, source: Source, *, cuda: bool) -> None:
    own = pip.settings(archive)
    free = {name for name in _names() if cuda and (name in REPLACED_FOR_CUDA or name.startswith("nvidia-"))}
    texts = {
        "Dockerfile": recipes.text("Dockerfile"),
        f"{FOLDER}/pip.conf": pip.configuration(source, own),
        f"{FOLDER}/constraints.txt": pip.constraints(free),
        f"{FOLDER}/requirements.txt": requirements.text,
    }
    certificates = source.certificates
    if certificates is None and source.wheels is None and Path(own.get("cert", "")).is_file():
        certificates = Path(own["cert"])
    with tarfile.open(fileobj=file, mode="w") as tar:
        for name, text in texts.items():
            info = tarfile.TarInfo(name)
            info.size, info.mode = len(data := text.encode()), 0o600
            tar.addfile(info, io.BytesIO(data))
        tar.add(archive, f"{FOLDER}/pip.zip", filter=_plain)
        if source.wheels is not None:
            for wheel in sorted(path for path in source.wheels.glob("*.whl") if path.is_file()):
                tar.add(wheel.resolve(), f"{FOLDER}/wheels/{wheel.name}", filter=_plain)
        if certificates is not None:
            tar.add(certificates.resolve(), f"{FOLDER}/certificates.pem", filter=_plain)


def _names() -> set[str]:
    return {canonical(item.metadata["Name"]) for item in packages.distributions()}


def _plain(info: tarfile.TarInfo) -> tarfile.TarInfo:
    info.uid = info.gid = info.mtime = 0
    info.uname = info.gname = ""
    info.mode = 0o600
    return info


def arguments(base: str, label: str, *, cuda: bool) -> dict[str, str]:
    """The arguments of the build."""
    labels = reaper.labels(image_engine.KEEP_SECONDS)
    proxies = {name: value for name in _PROXIES if (value := os.environ.get(name))}
    return {
        "BASE_IMAGE": base,
        "BUILD": label,
        "OWNER": labels[reaper.OWNER_LABEL],
        "EXPIRES": labels[reaper.EXPIRES_LABEL],
        "OPTIONS": " ".join(pip.OPTIONS),
        "REMOVE": " ".join(REPLACED_FOR_CUDA) if cuda else "",
        **proxies,
    }


def _build(
    client: DockerClient, file: IO[bytes], base: str, label: str, source: Source, *, cuda: bool, report: Progress
) -> str:
    """Run the build; returns the image's id. Where the engine has no network of its own, with that of its machine."""
    given = arguments(base, label, cuda=cuda)
    for network in ("none",) if source.wheels is not None else (None, "host"):
        file.seek(0)
        image, said, error = _run(client, file, given, network, report)
        if image:
            return image
        if network is not None or not re.search(_NO_NETWORK, error):
            break
    python = "{}.{}".format(*sys.version_info[:2])
    if "non-zero code" in error or "exit status" in error:
        raise pip.explain(said, source=source, python=python, where="in the sandbox image")
    raise SandboxUnavailableError(
        f"The Docker engine could not build the sandbox image: {error.strip().rstrip('.')}.{engine.advice_on(error)}"
    )


def _run(
    client: DockerClient, file: IO[bytes], given: dict[str, str], network: str | None, report: Progress
) -> tuple[str, str, str]:
    """One build: the image's id, what was written, and the error; one of the first and the last is empty."""
    said: list[str] = []
    error = ""
    image = ""
    with engine.calling("build the sandbox image"):
        steps = client.api.build(
            fileobj=file,
            custom_context=True,
            buildargs=given,
            network_mode=network,
            rm=True,
            forcerm=True,
            nocache=True,
            decode=True,
        )
        for step in steps:
            text = str(step.get("stream") or "")
            said.append(text)
            if line := _STEPS.match(text):
                report(line[0].strip()[:60], 0.15)
            error = str(step.get("error") or error)
            image = str((step.get("aux") or {}).get("ID") or image)
    if not image and (found := re.search(r"Successfully built ([0-9a-f]{12,64})", "".join(said))):
        image = found[1]
    return ("" if error else image), "".join(said), error or ("" if image else "the engine did not name an image")


def _forget(client: DockerClient, label: str) -> None:
    """Remove every image of a build; they hold what was used in it."""
    import docker.errors  # an extra, and slow to import

    with engine.calling("remove the images of a build"):
        for _ in range(20):  # a layer cannot go before the one above it
            found = client.api.images(filters={"label": f"{BUILD_LABEL}={label}"}, quiet=True, all=True)
            if not found:
                return
            for identity in found:
                with contextlib.suppress(docker.errors.APIError):
                    client.api.remove_image(identity, force=True)
