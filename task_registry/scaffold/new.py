"""Writes the folder of a new task pack: whole, and one that can be opened, or not at all."""

from __future__ import annotations

import re
import secrets
import shutil
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal, get_args

from openmle_env.errors import UsageError, unknown_name
from openmle_env.printable import printable
from openmle_env.task_registry import files, index
from openmle_env.task_registry.folder import open_pack
from openmle_env.task_registry.scaffold import pages, samples
from openmle_env.task_registry.scaffold.guess import Guess, guess

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

Kind = Literal["tabular", "image", "text"]
KINDS: tuple[str, ...] = get_args(Kind)
"""What made-up data there is."""


@dataclass(frozen=True, slots=True, kw_only=True)
class New:
    """A pack that was written."""

    folder: Path
    """Where it is."""
    said: tuple[str, ...]
    """What was guessed, and what is left to do: sentences for the author."""


def new(
    name: str,
    folder: Path,
    *,
    csv_file: Path | None = None,
    target: str | None = None,
    template: str | None = None,
    licence: str | None = None,
    source: str | None = None,
) -> New:
    """Write a new pack into a folder of its own.

    Args:
        name: Title of the task, from which its name is made.
        folder: In which the pack's folder is made.
        csv_file: A table with the target, which becomes the raw data.
        target: Its column that is to be predicted.
        template: Made-up data instead: ``tabular``, ``image`` or ``text``; ``tabular`` if there is no table either.
        licence: Licence of the data.
        source: Where it comes from.

    Raises:
        UnknownNameError: There is no such template, or the table has no such column.
        UsageError: The arguments contradict each other, the pack's folder is there already or cannot be written, or no
            task can be made of the table.
    """
    if (csv_file is None) != (target is None):
        raise UsageError("A table and its target belong together: --from-csv train.csv --target price.")
    if csv_file is not None and template is not None:
        raise UsageError("The data is either a table of yours or made up: leave out --from-csv or --template.")
    if template is not None and template not in KINDS:
        raise unknown_name("template", template, KINDS)
    facts = pages.Facts(title=name, licence=licence or "not stated", source=source or "not stated")
    _check(facts)
    slug = index.slug_of(name)
    final = folder / slug
    if final.exists() or final.is_symlink():
        raise UsageError(f"{final} is there already. Choose another name, or remove it.")
    said = [] if slug == name else [f"The task is called {slug!r}: names are of lower-case letters, digits and '-'."]
    found = guess(csv_file, target) if csv_file is not None and target is not None else None
    if found is None:
        facts = replace(facts, licence=licence or "CC0-1.0", source=source or "made up by openmle pack new")
        said.append("The data is made up: put your own into raw/, and correct utils/prepare.py.")
    else:
        said += found.said
        if licence is None or source is None:
            said.append("State the licence and the source of the data in pack.yaml.")
    temporary = folder / f".{slug}.{secrets.token_hex(4)}.new"
    try:
        (temporary / "raw").mkdir(parents=True)
        try:
            if csv_file is None:
                found = _made_up(temporary / "raw", template or "tabular")
            else:
                shutil.copyfile(csv_file, temporary / "raw" / "data.csv")
            _write(temporary, pages.table_pages(slug, facts, found) if found else pages.image_pages(slug, facts))
            open_pack(temporary)  # it is usable, but for its data
            temporary.rename(final)
        finally:
            files.remove(temporary)
    except OSError as error:
        raise UsageError(f"{error.filename or final} cannot be written: {error.strerror or error}.") from error
    said.append("Write description.md: it is all that agents are told of the problem.")
    return New(folder=final, said=tuple(said))


def _check(facts: pages.Facts) -> None:
    for text in (facts.title, facts.licence, facts.source):
        if printable(text) != text or "\n" in text:
            raise UsageError(f"{text!r} holds something that is no character of a line. Leave it out.")
    if not re.search("[a-z0-9]", facts.title.lower()):
        raise UsageError(
            f"{facts.title!r} has none of a-z and 0-9, of which the name of a task is made. Choose another one."
        )


def _made_up(raw: Path, template: str) -> Guess | None:
    """Write made-up data; None for images, of which nothing has to be guessed."""
    if template == "image":
        samples.write_images(raw)
        return None
    path = raw / "data.csv"
    return guess(path, samples.write_texts(path) if template == "text" else samples.write_table(path))


def _write(root: Path, texts: Mapping[str, str]) -> None:
    for name, text in texts.items():
        (root / name).parent.mkdir(exist_ok=True)
        (root / name).write_text(text, encoding="utf-8")
