"""Whether a pack opens, can be prepared, and has all that a task needs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from openmle_env.errors import UnknownNameError, unknown_name
from openmle_env.task_registry.folder import PREPARE_SCRIPT
from openmle_env.task_registry.quality.checks import bad, check, good, registered, skip
from openmle_env.task_registry.quality.subject import SAMPLE_NAME

if TYPE_CHECKING:
    from collections.abc import Iterator

    from openmle_env.task_registry.quality.checks import Found
    from openmle_env.task_registry.quality.subject import Subject


@check("opens", group="structure", severity="high", source="raw_inventory", acceptable=False)
def opens(subject: Subject) -> Iterator[Found]:
    """The pack opens: `pack.yaml` is valid, and every file that it names is there.

    Nothing can be played or graded otherwise.
    """
    yield good(f"{len(subject.pack.members):,} files, and pack.yaml is valid.")


@check("prepares", group="structure", severity="high", source="prepare.py", acceptable=False)
def prepares(subject: Subject) -> Iterator[Found]:
    """Its data can be made and verified, the sample submission and the answers can be graded.

    A script that fails, writes too little or runs out of its limits is noticed at the first episode otherwise.
    """
    if subject.fault is not None:
        yield bad(str(subject.fault))
    elif subject.prepared is not None:
        yield good(f"{len(subject.prepared.manifest.files):,} files were made or verified.")


@check("deterministic", group="structure", severity="high", source="prepare.py", acceptable=False)
def deterministic(subject: Subject) -> Iterator[Found]:
    """Its data is the same wherever it is made.

    Scores on other data cannot be compared.
    """
    if PREPARE_SCRIPT not in subject.pack.members or subject.pack.is_finished:
        yield good("The pack holds its finished files.")
    elif subject.prepared is None:
        yield skip("The data could not be prepared.")
    elif subject.pack.config.contents:
        yield good("What the script wrote has the SHA-256 that 'contents' of pack.yaml states.")
    else:
        yield good("Two runs of the script wrote the same.")


@check("accepted_names", group="structure", severity="high", source="raw_inventory", acceptable=False)
def accepted_names(subject: Subject) -> Iterator[Found]:
    """'accepted' in `pack.yaml` names checks whose findings an author can answer for.

    A misspelt name would hide nothing, and the author would believe that it does.
    """
    known = registered()
    for entry in subject.pack.config.accepted:
        if entry.check not in known:
            error: UnknownNameError = unknown_name("check", entry.check, known)
            yield bad(f"'accepted' in pack.yaml: {error}")
        elif not known[entry.check].acceptable:
            yield bad(f"'accepted' in pack.yaml: nobody can answer for {entry.check!r}. Mend the pack instead.")


@check("required_files", group="structure", severity="high", source="processed_csv_evidence", acceptable=False)
def required_files(subject: Subject) -> Iterator[Found]:
    """There are public data beside the sample submission, a description that says something, and no empty files.

    Programs have nothing to learn from, or agents nothing to go by, otherwise.
    """
    public = subject.public_files
    data = [name for name in public if name != SAMPLE_NAME and not name.startswith("description.")]
    if not data:
        yield bad("public/ holds nothing but the sample submission, so that programs have nothing to learn from.")
    unsupervised = subject.metric is not None and subject.metric.any_names
    for side in ("test",) if unsupervised else ("train", "test"):
        if data and not any(side in one for one in public):
            yield bad(f"No public file is named after its side, {side}.", ", ".join(sorted(data)[:10]), "low")
    for name, path in public.items():
        if not path.stat().st_size:
            yield bad(f"public/{name} is empty.")
    words = subject.pack.description.split()
    if len(words) < 3:
        yield bad(f"The description has {len(words)} words. Say what is predicted from what.")
