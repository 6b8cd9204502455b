"""``openmle sandbox build``: makes the image of the Docker sandbox, or installs extra packages for bubblewrap boxes."""
# No `from __future__ import annotations` here: typer reads the annotations when the program starts.

import contextlib
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from openmle_env.commands.console import AsJson, emit, progress, say, tell
from openmle_env.errors import SandboxUnavailableError, UsageError, unknown_name

if TYPE_CHECKING:
    from openmle_env.sandbox.pip import Source
    from openmle_env.sandbox.requirements import Requirements

BACKENDS = ("docker", "bubblewrap")


def build(
    *,
    sandbox: Annotated[
        str, typer.Option(metavar="NAME", help="docker: an image. bubblewrap: a folder of the extra packages.")
    ] = "docker",
    requirements: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Extra packages: one on a line, with its versions; wheels only.")
    ] = None,
    wheels: Annotated[
        Path | None, typer.Option(metavar="FOLDER", help="Take packages from this folder of wheels, without a network.")
    ] = None,
    index: Annotated[
        list[str] | None,
        typer.Option(metavar="URL", help="Take packages from this index instead of pip's own; may be repeated."),
    ] = None,
    certificates: Annotated[
        Path | None,
        typer.Option(metavar="FILE.pem", help="What a private index is verified with; never in the image."),
    ] = None,
    cuda: Annotated[bool, typer.Option("--cuda", metavar="", help="An image for GPUs: adds torch with CUDA.")] = False,
    name: Annotated[
        str | None, typer.Option(metavar="NAME", help="The image's name; one by its contents if left out.")
    ] = None,
    base: Annotated[
        str | None,
        typer.Option(metavar="IMAGE", help="auto, host, or an image with this Python's minor version to build on."),
    ] = None,
    force: Annotated[bool, typer.Option("--force", metavar="", help="Build even where it is up to date.")] = False,
    as_json: AsJson = False,
) -> None:
    """Build what programs run in, unless it is up to date: the libraries of this environment, and extra packages."""
    from openmle_env.sandbox.pip import Source
    from openmle_env.sandbox.requirements import read

    if sandbox not in BACKENDS:
        raise unknown_name("sandbox to build for", sandbox, BACKENDS)
    extra = read(requirements)
    source = Source(wheels=wheels, certificates=certificates, indexes=tuple(index or ()))
    if not extra.lines and not cuda and source != Source():
        raise UsageError("--wheels, --index and --certificates are for extra packages: name them by --requirements.")
    source.check()
    if sandbox == "bubblewrap":
        if cuda or name is not None or base is not None:
            raise UsageError("--cuda, --name and --base are for images: leave them out, or say --sandbox docker.")
        document, said = _folder(extra, source, force=force)
    else:
        document, said = _image(extra, source, cuda=cuda, name=name, base=base, force=force)
    if as_json:
        emit(document)
        return
    tell(said)
    others = document.get("others")
    if others:
        say(
            f"{others} images of other environments, or of this one before it changed, are there too; "
            "'openmle sandbox prune --images' removes those that nothing runs."
        )


def _image(
    extra: "Requirements", source: "Source", *, cuda: bool, name: str | None, base: str | None, force: bool
) -> tuple[dict[str, object], str]:
    from openmle_env.sandbox import image, image_build

    wanted = image.for_gpus(extra) if cuda else extra
    called = image.chosen(name, requirements=wanted)
    with progress("building") as report:
        if force or base is not None:
            made = image_build.build(
                name,
                base="auto" if base is None else base,
                requirements=extra,
                source=source,
                cuda=cuda,
                progress=report,
            )
        else:
            made = image_build.ensure(name, requirements=extra, source=source, cuda=cuda, progress=report)
    others = 0
    with contextlib.suppress(SandboxUnavailableError):  # the image is there all the same
        others = len(image.made_for_others())
    document = {"image": called, "id": made, "requirements": list(wanted.lines), "others": others}
    return document, f"The image is {called} ({made})."


def _folder(extra: "Requirements", source: "Source", *, force: bool) -> tuple[dict[str, object], str]:
    from openmle_env.sandbox import extras, packages

    if not extra.lines:
        packages.view()  # is there anything missing? That is all there is to do
        said = "Bubblewrap boxes show the libraries of this environment: there is nothing to build."
        return {"folder": None, "requirements": []}, f"{said} Name extra packages by --requirements."
    with progress("installing") as report:
        folder = extras.ensure(extra, source, force=force, progress=report)
    return {"folder": str(folder), "requirements": list(extra.lines)}, f"The packages are in {folder}."
