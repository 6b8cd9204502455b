"""Which image the Docker backend runs: its name, whether the engine has it, and whether boxes can run in it.

`openmle_env.sandbox.image_build` makes it.
"""

from __future__ import annotations

import contextlib
import re
from typing import TYPE_CHECKING, Any

from openmle_env import settings
from openmle_env.errors import SandboxUnavailableError, UsageError
from openmle_env.sandbox import engine, engine_facts, image_engine, image_parts, layout, reaper
from openmle_env.sandbox.recipes import DIGITS, recipe
from openmle_env.sandbox.requirements import CUDA, NONE, Requirements, read

if TYPE_CHECKING:
    from docker import DockerClient

ENVIRONMENT_LABEL = f"{engine.LABEL}.environment"
"""The recipe without extra packages: images of one environment have one."""
PYTHON_LABEL = f"{engine.LABEL}.python"
_PROBE_SECONDS = 60
_PROBE = "import sys; print('openmle', *sys.version_info[:2], sep='.')"

REPOSITORY = "openmle-env-sandbox"
"""Name of the images that environments make for themselves; the tag is the recipe."""
NAME = re.compile(r"([A-Za-z0-9.-]+(:\d+)?/)?[a-z0-9][a-z0-9._/-]*(:\w[\w.-]*)?(@sha256:[0-9a-f]{64})?", re.ASCII)
"""Names that an image can have."""
COMMAND = "openmle sandbox build"
"""What makes an image."""
_good: set[tuple[str, str]] = set()
"""Image ids that were looked into and found good, with the engine that has them."""


def chosen(name: str | None = None, *, requirements: Requirements = NONE) -> str:
    """This name, else the one of the settings, else the image of this environment with these extra packages.

    That one is named by its recipe, so that environments do not overwrite each other's, and one that was made of other
    libraries than are installed now is never used.

    Raises:
        UsageError: No image can have this name.
        SandboxUnavailableError: A required library is not installed in this environment.
    """
    name = name or settings.load().image or own_name(requirements)
    if not NAME.fullmatch(name):
        raise UsageError(
            f"{name!r} cannot be the name of an image. Correct OPENMLE_IMAGE or --name: lower-case letters, digits and "
            "'.-_/', such as 'my-sandbox:1'."
        )
    return name


def own_name(requirements: Requirements = NONE) -> str:
    """What `chosen` gives where neither the caller nor the settings name an image."""
    return f"{REPOSITORY}:{recipe(requirements)[:DIGITS]}"


def for_gpus(requirements: Requirements = NONE) -> Requirements:
    """These extra packages and what makes an image one for GPUs; `chosen` names its image."""
    return requirements | read(CUDA)


def advice(name: str, requirements: Requirements = NONE) -> str:
    """What to do where the engine lacks this image."""
    extra, packages = "", ""
    if requirements.lines:
        extra, packages = (
            " --requirements FILE",
            f" with its extra packages ({', '.join(requirements.lines)})",
        )
    if name.startswith(f"{REPOSITORY}:"):
        return f"Build it{packages}: {COMMAND}{extra}"
    return f"Build it{packages}: {COMMAND}{extra} --name {name}, or unset OPENMLE_IMAGE."


def exists(name: str | None = None, *, requirements: Requirements = NONE) -> bool:
    """Whether the engine has the image (see `chosen`).

    Raises:
        SandboxUnavailableError: No engine answers, boxes cannot run in it, or its image is for another machine.
    """
    name = chosen(name, requirements=requirements)
    with engine.connect() as client:
        info = engine.info(client)
        engine_facts.check(info, runtime=settings.load().runtime)
        found = image_engine.attributes(client, name)
    if found is not None:
        engine_facts.check_architecture(info, name, found)
    return found is not None


def check(client: DockerClient, name: str, info: engine_facts.Info, *, requirements: Requirements = NONE) -> None:
    """See that the engine has an image that boxes can run: for its machine, with this Python where they look for it.

    An image that was not made by `build` is started once for each process, to ask its interpreter.

    Raises:
        SandboxUnavailableError: It is missing, or boxes cannot run it. The message says what to do.
    """
    found = image_engine.attributes(client, name)
    if found is None:
        raise SandboxUnavailableError(f"The Docker engine has no image {name!r}. {advice(name, requirements)}")
    engine_facts.check_architecture(info, name, found)
    key = (str(info.get("ID") or ""), str(found.get("Id") or ""))
    if key not in _good:
        version = ((found.get("Config") or {}).get("Labels") or {}).get(PYTHON_LABEL) or _probe(client, name)
        if version != (wanted := image_parts.PYTHON.removeprefix("python")):
            raise SandboxUnavailableError(
                f"The image {name!r} has Python {version} at {layout.PYTHON}, and this environment is of Python "
                f"{wanted}: programs would meet other libraries. Build one of this environment with '{COMMAND}', or "
                f"run openmle_env with Python {version}."
            )
        _good.add(key)


def _probe(client: DockerClient, name: str) -> str:
    """The minor version of an image's interpreter."""
    said = ""
    with contextlib.suppress(SandboxUnavailableError):  # an image without it cannot be started at all
        said = _ask(client, name)
    found = re.search(r"^openmle\.(\d+\.\d+)$", said, re.MULTILINE)
    if found is None:
        tail = f" It said: {said[-300:]}" if said else ""
        raise SandboxUnavailableError(
            f"The image {name!r} has no Python that works at {layout.PYTHON}, where boxes look for it. Build one with "
            f"'{COMMAND} --base {name}', or make that path a virtual environment.{tail}"
        )
    return found[1]


def _ask(client: DockerClient, name: str) -> str:
    with image_engine.container(client, name, [layout.PYTHON, "-I", "-c", _PROBE]) as made:
        return image_engine.run(made, seconds=_PROBE_SECONDS)[1]


def made_for_others() -> list[str]:
    """Names of the images that were named by the recipe of another environment than this.

    Raises:
        SandboxUnavailableError: No engine answers.
    """
    with engine.connect() as client, engine.calling("list its images"):
        found = client.api.images(REPOSITORY, filters={"label": reaper.RECIPE_LABEL})
    own = recipe()
    others = [item for item in found if own not in ((item["Labels"] or {}).get(ENVIRONMENT_LABEL), _recipe_of(item))]
    return sorted({name for item in others for name in item["RepoTags"] or ()} - {own_name(), f"{REPOSITORY}:<none>"})


def _recipe_of(item: Any) -> str:
    return str((item["Labels"] or {}).get(reaper.RECIPE_LABEL))
