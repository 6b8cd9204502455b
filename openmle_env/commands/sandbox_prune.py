"""``openmle sandbox prune``: removes what is left of runs and of earlier environments."""
# No `from __future__ import annotations` here: typer reads the annotations when the program starts.

from dataclasses import asdict
from typing import Annotated

import typer

from openmle_env.commands.console import DONE, INFRASTRUCTURE, AsJson, emit, say, short_id, table, tell


def prune(
    *,
    images: Annotated[
        bool,
        typer.Option("--images", metavar="", help="Images of other environments too, and of this one as it was."),
    ] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", metavar="", help="Say what would be removed, and remove nothing.")
    ] = False,
    as_json: AsJson = False,
) -> int:
    """Remove what nobody needs any more: what killed processes left, and packages that were not used for a month."""
    from openmle_env.sandbox import leftovers  # reaches for engines

    found = leftovers.survey(images=images)
    gone = () if dry_run else leftovers.remove(found.found)
    code = INFRASTRUCTURE if found.engine_trouble and images else DONE
    if as_json:
        entries = [asdict(item) | {"removed": item in gone} for item in found.found]
        emit({"dry_run": dry_run, "found": entries, "engine_trouble": found.engine_trouble})
        return code
    if found.found:
        verb = {True: "removed", False: "would be removed" if dry_run else "in use, or not yours to remove"}
        rows = [[item.kind, short_id(item.kind, item.id), item.reason, verb[item in gone]] for item in found.found]
        table("", ("what", "which", "why", "done"), rows)
    else:
        tell("Nothing is left that nobody needs.")
    if found.engine_trouble:
        say(f"The engine was not looked through. {found.engine_trouble}")
    return code
