"""Making the image that the Docker backend runs.

The image is put together here and imported as one flat layer. So it needs no network where an interpreter is at hand,
holds exactly the libraries of this environment (both sandboxes give equal results), and has no layer in which a deleted
file still lies. Extra packages are added to it by pip in a build of the engine, whose result is made flat again.
"""

from __future__ import annotations

import contextlib
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, cast

from openmle_env.errors import DiskFullError, SandboxUnavailableError, UsageError
from openmle_env.files import is_full
from openmle_env.sandbox import (
    engine,
    engine_facts,
    image_engine,
    image_install,
    image_parts,
    layout,
    packages,
    pip,
    reaper,
)
from openmle_env.sandbox.image import ENVIRONMENT_LABEL, NAME, PYTHON_LABEL, chosen, for_gpus, own_name
from openmle_env.sandbox.recipes import recipe
from openmle_env.sandbox.requirements import NONE

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import IO

    from docker import DockerClient

    from openmle_env.sandbox.recipes import Progress
    from openmle_env.sandbox.requirements import Requirements

_MODULES = ("numpy", "pandas", "scipy", "sklearn", "sklearn.ensemble", "sklearn.pipeline", "sklearn.compose")
"""Imported inside the new image before it gets its name."""
_BASE_LABEL = f"{engine.LABEL}.base"
_TRIAL = """
import compileall, importlib, importlib.util, os, py_compile, sys

class Compiled:
    def search(self, path):
        return os.path.exists(importlib.util.cache_from_source(path))

for folder in sys.path:
    mode = py_compile.PycInvalidationMode.UNCHECKED_HASH
    compileall.compile_dir(folder, quiet=2, workers=0, rx=Compiled(), invalidation_mode=mode)
for name in sys.argv[1:]:
    module = importlib.import_module(name)
    if name == "torch" and not module.version.cuda:
        sys.exit(
            f"torch {module.__version__} is built without CUDA. Name an index with CUDA's wheels by --index, such as "
            "https://download.pytorch.org/whl/cu128."
        )
"""


def ensure(
    name: str | None = None,
    *,
    requirements: Requirements = NONE,
    source: pip.Source | None = None,
    cuda: bool = False,
    progress: Progress | None = None,
) -> str:
    """Build the image unless the engine has the one of this recipe; returns the image's id. Arguments as of `build`.

    Raises:
        SandboxUnavailableError: No engine answers, or the image could not be made.
    """
    wanted = for_gpus(requirements) if cuda else requirements
    name = chosen(name, requirements=wanted)
    with engine.connect() as client:
        found = image_engine.attributes(client, name)
    if found is not None and ((found["Config"] or {}).get("Labels") or {}).get(reaper.RECIPE_LABEL) == recipe(wanted):
        return str(found["Id"])
    return build(name, requirements=requirements, source=source, cuda=cuda, progress=progress)


def build(
    name: str | None = None,
    *,
    base: str = "auto",
    requirements: Requirements = NONE,
    source: pip.Source | None = None,
    cuda: bool = False,
    progress: Progress | None = None,
) -> str:
    """Build the image and give it its name once it was seen to work; returns its id.

    Args:
        name: The image's name; by default, see `chosen`.
        base: ``auto`` (the official slim Python image where the engine has it, or this is not Linux; else ``host``),
            ``host`` (the running interpreter and the shared libraries it needs; Linux only), or the name of an image
            that has this Python's minor version.
        requirements: Extra packages, installed by pip on top of the image of this environment.
        source: Where they come from.
        cuda: Add the packages that make it an image for GPUs. No GPU is needed to build it.
        progress: Called with what is being done and the fraction done, 0 to 1.

    Raises:
        UsageError: The packages cannot be had, or contradict the libraries of this environment.
        SandboxUnavailableError: No engine answers, the base cannot be had, or the image does not work.
        DiskFullError: There is no space for the image's files.
    """
    wanted = for_gpus(requirements) if cuda else requirements
    name = chosen(name, requirements=wanted)
    source = source or pip.Source()
    source.check()
    if base not in ("auto", "host") and not NAME.fullmatch(base):
        raise UsageError(f"{base!r} cannot be the name of an image. Give auto, host or an image's name by --base.")
    report = progress or (lambda _text, _fraction: None)
    with _space(), engine.connect(image_engine.BUILD_SECONDS) as client:
        engine_facts.check(engine.info(client))
        if wanted.lines:
            below = _environments(client, base, _part(report, 0.0, 0.4))
            above = _part(report, 0.4, 1.0)
            base = (image_engine.labels(client, below) or {}).get(_BASE_LABEL, base)
            with image_install.installed(client, below, wanted, source, cuda=cuda, report=above) as file:
                modules = (*_MODULES, *(("torch",) if cuda and "torch" in wanted.names else ()))
                image = _named(client, file, name, base=base, requirements=wanted, modules=modules, report=above)
        else:
            with tempfile.TemporaryFile() as plain:
                file = cast("IO[bytes]", plain)
                base = _assemble(client, base, file, report)
                image = _named(client, file, name, base=base, requirements=wanted, modules=_MODULES, report=report)
        report("done", 1.0)
        with contextlib.suppress(SandboxUnavailableError):  # the image is there, whatever else lies around
            reaper.collect(client)
    return image


def _part(report: Progress, begin: float, end: float) -> Progress:
    return lambda text, fraction: report(text, begin + (end - begin) * fraction)


def _environments(client: DockerClient, base: str, report: Progress) -> str:
    """The image of this environment, without extra packages, built where it is not there."""
    name = own_name()
    labels = image_engine.labels(client, name)
    if base == "auto" and labels is not None and labels.get(reaper.RECIPE_LABEL) == recipe():
        return name
    if base == "auto" or (labels or {}).get(_BASE_LABEL) != base:
        build(name, base=base, progress=report)
    return name


def _assemble(client: DockerClient, base: str, file: IO[bytes], report: Progress) -> str:
    """Write the layer of this environment's image; returns the base that was taken."""
    libraries = packages.distributions()
    with tempfile.TemporaryDirectory() as folder:
        report("choosing the base", 0.0)
        base = _choose(client, base)
        machine = _machine(client)
        if base != "host" and not all(image_parts.portable(item, machine) for item in libraries):
            report("fetching Linux wheels", 0.05)
            image_parts.fetch(libraries, machine, Path(folder))
            libraries = image_parts.unpacked(Path(folder))
        report(f"copying {len(libraries)} libraries", 0.1)
        layer = image_parts.Layer(file)
        extensions = image_parts.add_libraries(layer, libraries)
        report(f"copying the base ({base})", 0.3)
        if base == "host":
            interpreter = image_parts.add_interpreter(layer, extensions)
        else:
            engine_facts.check_architecture(engine.info(client), base, image_engine.attributes(client, base) or {})
            with image_engine.exported(client, base) as stream:
                interpreter = image_parts.add_exported(layer, stream)
        image_parts.add_environment(layer, interpreter)
        layer.close()
    return base


def _named(
    client: DockerClient,
    file: IO[bytes],
    name: str,
    *,
    base: str,
    requirements: Requirements,
    modules: tuple[str, ...],
    report: Progress,
) -> str:
    """Import a layer; compile in it where programs cannot write, see that all imports, and only then name it."""
    stream = image_engine.chunks(file, report, begin=0.4, end=0.6)
    raw = image_engine.import_layer(client, stream, changes=reaper.image_changes(image_engine.KEEP_SECONDS))
    changes = [
        f'ENV PATH="{layout.VENV}/bin:/usr/local/bin:/usr/bin:/bin"',
        "WORKDIR /work",
        f"USER {layout.USER}:{layout.USER}",
        f'CMD ["{layout.PYTHON}"]',
        f"LABEL {reaper.RECIPE_LABEL}={recipe(requirements)}",
        f"LABEL {ENVIRONMENT_LABEL}={recipe()}",
        f"LABEL {PYTHON_LABEL}={image_parts.PYTHON.removeprefix('python')}",
        f"LABEL {_BASE_LABEL}={base}",
    ]
    try:
        report("compiling and trying the libraries", 0.6)
        with image_engine.container(client, raw, [layout.PYTHON, "-I", "-c", _TRIAL, *modules], user="0:0") as made:
            code, said = image_engine.run(made, seconds=image_engine.BUILD_SECONDS)
            if code:
                raise SandboxUnavailableError(
                    f"The new sandbox image does not work (base {base!r}, exit code {code}): {said}\n"
                    "Choose another base with --base."
                )
            return image_engine.import_layer(client, image_engine.export(made), name=name, changes=changes)
    finally:
        image_engine.remove(client, raw)


@contextlib.contextmanager
def _space() -> Iterator[None]:
    try:
        yield
    except DiskFullError:
        raise
    except OSError as error:
        if not is_full(error):
            raise
        raise DiskFullError(
            f"No space is left below {tempfile.gettempdir()!r}, where the image is put together; it needs about 1 GB, "
            "one for GPUs about 15. Set TMPDIR to a folder with more space."
        ) from error


def _choose(client: DockerClient, base: str) -> str:
    if base == "host":
        return base
    wanted = f"python:{image_parts.PYTHON.removeprefix('python')}-slim" if base == "auto" else base
    if image_engine.attributes(client, wanted) is not None:
        return wanted
    if base == "auto" and sys.platform == "linux":
        return "host"
    try:
        image_engine.pull(wanted)
    except SandboxUnavailableError as error:
        raise SandboxUnavailableError(
            f"{error} Use --base host to build from this machine's own interpreter."
        ) from error
    return wanted


def _machine(client: DockerClient) -> str:
    """The engine's machine type, as wheels name it."""
    with engine.calling("say what machine it runs on"):
        architecture = str(client.version()["Arch"])
    return {"amd64": "x86_64", "arm64": "aarch64"}.get(architecture, architecture)
