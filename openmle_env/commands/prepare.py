"""``openmle prepare``: makes the data of tasks, or verifies what was made; or only fetches what is needed for it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from openmle_env.commands.console import DONE, FAILED, AsJson, emit, progress, say, tell
from openmle_env.errors import OpenMLEError, UsageError

if TYPE_CHECKING:
    from openmle_env.task_registry.folder import Pack


def prepare(
    tasks: Annotated[
        list[str] | None, typer.Argument(metavar="TASK", help="Names of tasks, or folders of task packs.")
    ] = None,
    *,
    suite: Annotated[
        str | None, typer.Option(metavar="NAME|FILE", help="The tasks of a suite: smoke, core, all, or a file.")
    ] = None,
    every: Annotated[bool, typer.Option("--all", metavar="", help="Every built-in task.")] = False,
    fetch_only: Annotated[
        bool,
        typer.Option("--fetch-only", metavar="", help="Only fetch what the tasks need, for a machine without network."),
    ] = False,
    force: Annotated[
        bool, typer.Option("--force", metavar="", help="Make the data again, even if it is there and whole.")
    ] = False,
    as_json: AsJson = False,
) -> int:
    """Make the data of tasks; what is there already is verified.

    Of several tasks, one that fails keeps no other from being made: the failures are told at the end.
    """
    if sum((bool(tasks), suite is not None, every)) != 1:
        raise UsageError("Name the tasks, or a suite (--suite NAME), or all of them (--all): one of the three.")
    if fetch_only and force:
        raise UsageError("--fetch-only makes no data, so --force would say nothing. Leave one of the two out.")
    packs, failed = _of_suite("all" if suite is None else suite) if not tasks else _named(tasks)
    count = len(packs) + len(failed)
    documents: list[dict[str, object]] = []
    for number, pack in enumerate(packs, 1):
        label = f"{'fetching' if fetch_only else 'preparing'}{'' if count == 1 else f' {number}/{len(packs)}'}"
        try:
            document = _fetch(pack, label) if fetch_only else _make(pack, label, force=force)
        except OpenMLEError as error:
            if count == 1:
                raise
            failed.append((pack.slug, error))
            continue
        documents.append(document)
        if not as_json:
            tell(_line(pack, document))
    if as_json:
        emit([*documents, *({"task": name, "error": _told(why)} for name, why in failed)])
    if not failed:
        return DONE
    say(f"{len(failed)} of {count} failed:")
    for name, why in failed:
        say(f"  {name}: {why}")
    return FAILED


def _named(tasks: list[str]) -> tuple[list[Pack], list[tuple[str, OpenMLEError]]]:
    """The packs of names that somebody gave; a misspelt one ends it before anything is made."""
    from openmle_env.task_registry.lookup import find  # pydantic and more

    packs: list[Pack] = []
    failed: list[tuple[str, OpenMLEError]] = []
    for name in dict.fromkeys(tasks):
        try:
            packs.append(find(name))
        except OpenMLEError as error:
            if isinstance(error, UsageError) or len(tasks) == 1:
                raise
            failed.append((name, error))
    return packs, failed


def _of_suite(name: str) -> tuple[list[Pack], list[tuple[str, OpenMLEError]]]:
    """The packs of a suite, and its members that cannot be had here as it states them."""
    from openmle_env.task_registry import suites
    from openmle_env.task_registry.lookup import find

    suite = suites.load(name)
    gaps = suite.gaps(find)
    failed: list[tuple[str, OpenMLEError]] = [(task, UsageError(why)) for task, why in gaps.items()]
    return [find(member.task) for member in suite.tasks if member.task not in gaps], failed


def _make(pack: Pack, label: str, *, force: bool) -> dict[str, object]:
    from openmle_env.task_registry.prepare import prepare as make

    with progress(label) as report:
        prepared = make(pack, progress=report, force=force, show_trace=True)
    for warning in prepared.warnings:
        say(f"Warning: {pack.slug}: {warning}")
    return {"task": pack.slug, "version": pack.version, "hash": pack.hash, "made": prepared.made,
            "public": str(prepared.public), "warnings": list(prepared.warnings)}  # fmt: skip


def _fetch(pack: Pack, label: str) -> dict[str, object]:
    from openmle_env.task_registry.raw_inputs import fetch

    with progress(label) as report:
        found = fetch(pack, report)
    files = [{"file": one.file, "sha256": one.sha256, "size": one.size, "path": str(path)} for one, path in found]
    return {"task": pack.slug, "version": pack.version, "hash": pack.hash, "fetched": files}


def _line(pack: Pack, document: dict[str, Any]) -> str:
    if "fetched" in document:
        files, size = document["fetched"], sum(one["size"] for one in document["fetched"])
        if not files:
            return f"{pack.slug} fetches nothing."
        count = "1 file is" if len(files) == 1 else f"{len(files)} files are"
        return f"{pack.slug}: {count} here, {size / 1e6:.1f} MB."
    verb = "prepared" if document["made"] else "was prepared before, and is whole"
    return f"{pack.slug} {verb}. Public files: {document['public']}"


def _told(error: OpenMLEError) -> dict[str, str]:
    return {"kind": type(error).__name__, "message": str(error), "fault": error.fault.value}
