"""Extra packages for bubblewrap boxes: a folder below ``OPENMLE_HOME`` for each set of them, made by pip, whole or not.

The folder has the name of the image with the same packages (see `openmle_env.sandbox.recipes`), so that both backends
agree on what a pack asks for. `openmle_env.sandbox.packages.view` shows what is in it beside the other libraries.
"""

from __future__ import annotations

import compileall
import json
import os
import py_compile
import shutil
import sys
import time
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from openmle_env import scratch, settings
from openmle_env.errors import DiskFullError, SandboxUnavailableError, UsageError
from openmle_env.files import is_full
from openmle_env.sandbox import packages, pip, recipes

if TYPE_CHECKING:
    from collections.abc import Iterator

    from openmle_env.sandbox.pip import Source
    from openmle_env.sandbox.recipes import Progress
    from openmle_env.sandbox.requirements import Requirements

NAME = "packages"
"""Of the folder below ``OPENMLE_HOME`` that holds all of them."""
MARKER = packages.EXTRA_MARKER
"""Beside the packages: what they were asked for, by which environment. Its time is that of the last use."""
COMMAND = "openmle sandbox build --sandbox bubblewrap"
_USE_SECONDS = 3600.0
"""How exact the time of the last use is."""
UNUSED_DAYS = 30
"""When a folder that nobody used counts as left behind."""


def root() -> Path:
    """The folder that holds all of them; it need not exist."""
    return settings.load().home / NAME


def folder(requirements: Requirements) -> Path:
    """Where these packages stand or would stand."""
    return root() / recipes.recipe(requirements)[: recipes.DIGITS]


def find(requirements: Requirements) -> Path | None:
    """The folder of these packages, for `packages.view`; None where there are none to add. Notes that it is used.

    Raises:
        SandboxUnavailableError: They were not installed yet.
    """
    if not requirements.lines:
        return None
    found = folder(requirements)
    try:
        if time.time() - (found / MARKER).stat().st_mtime > _USE_SECONDS:
            with suppress(OSError):  # a home that cannot be written any more serves all the same
                os.utime(found / MARKER)
    except OSError:
        names = ", ".join(requirements.names[:5]) + (", ..." if len(requirements.names) > 5 else "")
        raise SandboxUnavailableError(
            f"The extra packages ({names}) are not installed for bubblewrap boxes. Install them: {COMMAND} "
            "--requirements FILE"
        ) from None
    return found


def ensure(
    requirements: Requirements, source: Source, *, force: bool = False, progress: Progress | None = None
) -> Path:
    """Install these packages unless they are; returns their folder. It appears once it is whole.

    Raises:
        UsageError: pip has no such packages, they contradict the libraries of this environment, or a hash is wrong.
        SandboxUnavailableError: pip or the network failed.
        DiskFullError: There is no space for them.
    """
    report = progress or (lambda _text, _fraction: None)
    source.check()
    target = folder(requirements)
    with _space(target):
        there = not force and (target / MARKER).is_file()
    if there:
        report("done", 1.0)
        return target
    with _space(target), scratch.folder() as made:
        report("installing with pip", 0.1)
        site = _install(requirements, source, made)
        report("looking at what was installed", 0.8)
        _tidy(site)
        names = _refuse_collisions(site)
        whole = made / "whole"
        site.rename(whole)
        report("compiling", 0.85)
        compileall.compile_dir(
            whole,
            quiet=2,
            stripdir=str(whole),
            prependdir=packages.SITE_PACKAGES,  # where boxes show them, for tracebacks
            invalidation_mode=py_compile.PycInvalidationMode.UNCHECKED_HASH,
        )
        document = {"environment": recipes.recipe(), "requirements": requirements.lines, "packages": names}
        (whole / MARKER).write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")
        _open_to_all(whole)
        _put(whole, target, force=force)
    report("done", 1.0)
    return target


def left() -> list[tuple[Path, str]]:
    """Folders that nobody needs any more, each with why."""
    found = []
    with suppress(OSError):  # there are none yet
        for path in sorted(root().iterdir()):
            try:
                days = (time.time() - (path / MARKER).stat().st_mtime) / 86400
            except OSError:
                found.append((path, "it is not whole"))
            else:
                if days > UNUSED_DAYS:
                    found.append((path, f"it was not used for {days:.0f} days"))
    return found


def remove(path: Path) -> None:
    """Remove one of them, as far as this user may; what is left after a kill is not taken for whole."""
    with suppress(OSError):
        (path / MARKER).unlink()
    shutil.rmtree(path, ignore_errors=True)


def _install(requirements: Requirements, source: Source, made: Path) -> Path:
    """Run pip beside a pretended environment; returns the folder with the packages."""
    prefix, pretended = made / "prefix", made / "installed"
    pretended.mkdir()
    pip.archive(made / "pip.zip")
    pip.pretend(pretended, packages.distributions())
    (made / "constraints.txt").write_text(pip.constraints(), encoding="utf-8")
    (made / "requirements.txt").write_text(requirements.text, encoding="utf-8")
    command = [sys.executable, "-S", str(made / "pip.zip" / "pip"), "install", *pip.OPTIONS, "--prefix", str(prefix)]
    command += ["--constraint", str(made / "constraints.txt"), "--requirement", str(made / "requirements.txt")]
    if source.wheels is not None:
        command += ["--no-index", "--find-links", str(source.wheels.absolute())]
    if source.certificates is not None:
        command += ["--cert", str(source.certificates.absolute())]
    done = pip.run(command, pretended, pip.environment(source, pip.settings(made / "pip.zip")))
    if done.returncode:
        python = "{}.{}".format(*sys.version_info[:2])
        raise pip.explain(done.stdout, source=source, python=python, where="for bubblewrap boxes")
    found = sorted(prefix.rglob("*.dist-info"))
    if not found:  # all of them are libraries that boxes show already
        (prefix / "none").mkdir(parents=True)
        return prefix / "none"
    return found[0].parent


def _tidy(site: Path) -> None:
    """Take away what no box shows: what would run at the start of an interpreter, and commands."""
    for path in site.glob("*.pth"):
        path.unlink()
    for name in ("__pycache__", "bin"):
        shutil.rmtree(site / name, ignore_errors=True)


def _refuse_collisions(site: Path) -> list[str]:
    """Names of what was installed; a folder that a library of this environment has too could not be shown."""
    own = set(packages.entries())
    both = sorted(path.name for path in site.iterdir() if path.name in own)
    if both:
        raise UsageError(
            f"The packages put files into {', '.join(both)}, which a library of this environment fills already; "
            "bubblewrap boxes cannot show both. Use the Docker sandbox for them, or install them beside openmle_env."
        )
    return sorted(path.name.removesuffix(".dist-info") for path in site.glob("*.dist-info"))


def _open_to_all(folder: Path) -> None:
    """Programs run as another user, whatever this one's umask is."""
    for place, _, files in os.walk(folder):
        Path(place).chmod(0o755)
        for name in files:
            Path(place, name).chmod(0o644)


def _put(whole: Path, target: Path, *, force: bool) -> None:
    """Give a finished folder its place, unless another process was faster."""
    target.parent.mkdir(parents=True, exist_ok=True)
    if force and target.exists():
        target.rename(whole.parent / "old")
    try:
        whole.rename(target)
    except OSError:
        if not (target / MARKER).is_file():
            raise


@contextmanager
def _space(target: Path) -> Iterator[None]:
    try:
        yield
    except DiskFullError:
        raise
    except OSError as error:
        if is_full(error):
            raise DiskFullError(
                f"No space is left for the extra packages at {target}; nothing was kept. Free some, or set "
                "OPENMLE_HOME to a folder with more space."
            ) from error
        raise SandboxUnavailableError(
            f"The extra packages cannot be written at {target}: {error.strerror or error}. Set OPENMLE_HOME to a "
            "folder that you may write."
        ) from error
