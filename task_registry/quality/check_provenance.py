"""Where the data comes from, what an episode may use, and whether the pack's version says that it has changed."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from openmle_env.errors import PackError
from openmle_env.task_registry import index
from openmle_env.task_registry.pack import Data
from openmle_env.task_registry.quality.checks import bad, check, good, skip
from openmle_env.task_registry.versions import version_bump
from openmle_env.types import MIB

if TYPE_CHECKING:
    from collections.abc import Iterator

    from openmle_env.task_registry.quality.checks import Found
    from openmle_env.task_registry.quality.subject import Subject

LARGE_MB = 2048
"""Public data of more MiB than this keeps most people away."""
MOST_MEMORY_MB, MOST_CPUS, MOST_GPUS = 256 * 1024, 64, 8
_FLOATING = re.compile(r"^[\^~]|[*<>=\s]|latest|main|master|head", re.IGNORECASE)


@check("licence", group="provenance", severity="medium", source="raw_inventory")
def licence(subject: Subject) -> Iterator[Found]:
    """Licence and source of the data are stated.

    Nobody can use, or check, data of unknown origin.
    """
    for key, value in (("licence", subject.pack.config.data.licence), ("source", subject.pack.config.data.source)):
        if value.strip().lower() in {Data().licence, "", "unknown", "tbd", "todo"}:
            yield bad(f"'data.{key}' in pack.yaml is {value!r}. Say it.")
        else:
            yield good(f"{key}: {value}")


@check("downloads_pinned", group="provenance", severity="high", source="raw_inventory")
def downloads_pinned(subject: Subject) -> Iterator[Found]:
    """Every file that is fetched is one certain file, by version, size and SHA-256.

    Data that changes under a task makes its scores worthless.
    """
    downloads = subject.pack.config.downloads
    for one in downloads:
        if one.registry == "url":
            if one.url.startswith(("http://", "file://")):
                yield bad(f"{one.file} is fetched from {one.url.split(':')[0]}://, which nobody else may reach, or "
                          "anybody may change on the way. Use https.", severity="medium")  # fmt: skip
        elif _FLOATING.search(one.version):
            yield bad(f"{one.package} is fetched in version {one.version!r}. Name one version.")
    if not downloads:
        yield good("Nothing is fetched.")
    else:
        yield good(f"{len(downloads):,} files, each with its size and SHA-256.")


@check("contents_pinned", group="provenance", severity="low", source="prepare.py")
def contents_pinned(subject: Subject) -> Iterator[Found]:
    """'contents' in `pack.yaml` states the SHA-256 of every prepared file.

    Without it nobody notices that another machine made other data.
    """
    if not subject.pack.config.contents:
        yield bad("'contents' is not stated. 'openmle show' prints what to write there.")


@check("budgets", group="provenance", severity="medium", source="raw_inventory")
def budgets(subject: Subject) -> Iterator[Found]:
    """What an episode and a program may use fits together and fits a machine.

    A program that may run longer than the episode is cut in the middle.
    """
    config = subject.pack.config
    limits, budget = config.program_limits(), config.budget
    if limits.wall_seconds > budget.seconds:
        yield bad(f"A program may run {limits.wall_seconds:g} s, and the episode ends after {budget.seconds:g} s.")
    for name, value, most in (
        ("limits.memory_mb", limits.memory_mb, MOST_MEMORY_MB),
        ("limits.cpus", limits.cpus, MOST_CPUS),
        ("hardware.gpus", limits.gpus, MOST_GPUS),
    ):
        if value > most:
            yield bad(f"{name} is {value:g}, more than {most:g}.")
    yield good(f"{budget.programs} programs in {budget.seconds:g} s, each {limits.wall_seconds:g} s at most.")


@check("sizes", group="provenance", severity="low", source="processed_csv_evidence")
def sizes(subject: Subject) -> Iterator[Found]:
    """The public data is of a size that people can use, and fits into a program's memory.

    Programs that cannot read their data fail for no fault of theirs.
    """
    size = sum(path.stat().st_size for path in subject.public_files.values()) / MIB
    memory = subject.pack.config.program_limits().memory_mb
    if size > LARGE_MB:
        yield bad(f"The public data takes {size:,.0f} MiB.")
    if size > memory:
        yield bad(f"The public data takes {size:,.0f} MiB, and a program has {memory:,} MiB of memory.")
    yield good(f"{len(subject.public_files):,} public files, {size:,.1f} MiB.")


@check("version_raised", group="provenance", severity="high", source="raw_inventory", acceptable=False)
def version_raised(subject: Subject) -> Iterator[Found]:
    """Where data, split or metric have changed since the index was made, so has the version.

    Old scores would stand beside new ones otherwise.
    """
    pack = subject.pack
    if pack.root.parent != index.PACKS.resolve():
        yield skip("The pack is not built in, and its earlier versions are not known.")
        return
    try:
        known = index.builtin()
    except PackError as error:
        yield skip(str(error))
        return
    old = known.get(pack.slug)
    if old is None:
        yield skip("The index does not know the pack yet.")
    elif why := version_bump(old, pack):
        yield bad(why)
