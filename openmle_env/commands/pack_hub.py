"""``openmle pack push``, ``pull`` and ``specs``: packs as data sets of the Hugging Face hub, and rows to train on."""
# No `from __future__ import annotations` here: typer reads the annotations when the program starts.

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from openmle_env.commands.console import AsJson, emit, near, need_folder_for, progress, say, tell
from openmle_env.errors import PackError, UsageError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from openmle_env.task_registry.folder import Pack

Address = Annotated[str, typer.Argument(metavar="REPO", help="OWNER/NAME of a data set.")]


def push(
    pack: Annotated[str, typer.Argument(metavar="PACK", help="Name of a task, or folder of a task pack.")],
    repo: Address,
    *,
    public: Annotated[
        bool, typer.Option("--public", metavar="", help="A public data set: only what agents may see goes there.")
    ] = False,
    with_answers: Annotated[
        bool, typer.Option("--with-answers", metavar="", help="Push the answers to a public data set, too.")
    ] = False,
    force: Annotated[
        bool, typer.Option("--force", metavar="", help="Push a pack that the quality gate does not pass.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Push a pack to the Hugging Face hub; the whole of it to a private data set."""
    from openmle_env.task_registry.hub import transfer
    from openmle_env.task_registry.lookup import find
    from openmle_env.task_registry.prepare import locate

    opened = find(pack)
    transfer.split_address(repo)
    if not force:
        _need_soundness(opened)
    prepared = locate(opened)
    with progress("pushing") as report:
        pushed = transfer.push(
            opened,
            repo,
            public=public,
            with_answers=with_answers,
            prepared=prepared.public if prepared else None,
            progress=report,
        )
    if as_json:
        emit(asdict(pushed))
    else:
        has = "all of it" if pushed.edition == "whole" else "what agents may see"
        tell(f"{opened.slug} {opened.version}, {has}, is in {pushed.url}. To pin it: {pushed.repo}@{pushed.commit}")


def pull(
    repo: Annotated[str, typer.Argument(metavar="REPO[@REVISION]", help="OWNER/NAME, with a commit, tag or branch.")],
    *,
    to: Annotated[Path, typer.Option("--to", metavar="DIR", help="Where the pack is written.")],
    force: Annotated[bool, typer.Option("--force", metavar="", help="Write over another pack of that name.")] = False,
    as_json: AsJson = False,
) -> None:
    """Pull a pack from the Hugging Face hub, and check every byte of it."""
    from openmle_env.task_registry.hub import transfer

    with progress("pulling") as report:
        pulled = transfer.pull(repo, to, force=force, progress=report)
    if as_json:
        emit({**asdict(pulled), "folder": str(pulled.folder)})
        return
    if pulled.edition == "public":
        say(f"{pulled.slug} came without answers: its data can be used, and nothing can be graded.")
    tell(f"{pulled.slug} is in {near(pulled.folder)}, from commit {pulled.commit}.")


def specs(
    tasks: Annotated[list[str] | None, typer.Argument(metavar="TASK", help="Names of tasks, or folders.")] = None,
    *,
    suite: Annotated[str, typer.Option("--suite", metavar="NAME", help="The tasks of a suite.")] = "",
    output: Annotated[Path, typer.Option("--output", metavar="FILE", help="Where the lines of JSON are written.")],
    as_json: AsJson = False,
) -> None:
    """Write the specifications of tasks as lines of JSON, to train on; tasks are prepared where they were not."""
    from openmle_env.task_registry import suites
    from openmle_env.task_registry.hub import specs as table

    if bool(tasks) == bool(suite):
        raise UsageError("Name tasks, or a suite by --suite.")
    need_folder_for(output)
    names = list(tasks or suites.members(suite))
    with progress("preparing") as report:
        count = table.write(output, _told(names, report))
    if as_json:
        emit({"rows": count, "file": str(output)})
    else:
        tell(f"{count} specifications are in {near(output)}.")


def _told(names: "Sequence[str]", report: "Callable[[str, float], None]") -> "Iterator[str]":
    for number, name in enumerate(names):
        report(name, number / len(names))
        yield name


def _need_soundness(pack: "Pack") -> None:
    """Refuse a pack that the gate does not pass."""
    from openmle_env.task_registry.quality.gate import check_pack

    with progress("checking") as report:
        found = check_pack(pack, progress=report).report
    if found.failed_hard:
        first = next(finding for finding in found.findings if finding.is_hard)
        raise PackError(
            f"{pack.slug} is not sound: {first.check}: {first.message} To see all: openmle pack check "
            f"{pack.address}. To push it all the same, say --force."
        )
