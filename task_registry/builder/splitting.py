"""The fifth stage: a model writes ``prepare.py``, which runs in a sandbox until what it makes is right."""

from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING

from openmle_env.files import write_whole
from openmle_env.policies.extraction import NoProgram, extract_program
from openmle_env.task_registry.builder import checks, plan, prompts, reading, trial
from openmle_env.task_registry.builder.conversation import WrongAnswerError, ask
from openmle_env.task_registry.builder.perceive import summaries
from openmle_env.task_registry.folder import ANSWERS, SAMPLE
from openmle_env.task_registry.pack import Preparation

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from openmle_env.policies.protocol import Policy, Reply
    from openmle_env.sandbox.protocol import Sandbox
    from openmle_env.task_registry.builder.conversation import Spent
    from openmle_env.task_registry.builder.workspace import Workspace

PREVIEW_ROWS = 4
MOST_SUMMARIES = 6


def split(
    work: Workspace,
    policy: Policy,
    spent: Spent,
    sandbox: Callable[[], Sandbox],
    tell: Callable[[str], None],
    *,
    tries: int,
) -> None:
    """Have the script written, run it twice, check the five files, and keep what later stages ask of them.

    Raises:
        GivenUpError: The model did not get it right.
        PolicyError: No answer could be had.
        SandboxUnavailableError: The script could not be run.
    """
    task = plan.read(work.plan)
    allowed = Preparation.model_validate(trial.allowance(raw_bytes(work)))

    def made(reply: Reply) -> tuple[str, Mapping[str, bytes]]:
        found = extract_program(reply)
        if isinstance(found, NoProgram):
            raise WrongAnswerError(found.message)
        checks.check_script(found.source)
        tell(f"{work.slug}: running prepare.py, try {spent.tries}")
        first = trial.run_script(found.source, work.raw, allowed, sandbox())
        checks.check_files(first, task)
        checks.check_same(first, trial.run_script(found.source, work.raw, allowed, sandbox()))
        return found.source, first

    tables = [name for name in task.sources if name.lower().endswith((".csv", ".tsv"))] or reading.tables(work.raw)
    question = prompts.fill(
        "prepare",
        id=task.id,
        targets=prompts.quoted(task.targets),
        columns=prompts.quoted(task.columns),
        sources=prompts.quoted(task.sources),
        key=f"its `{task.groups}`"
        if task.groups
        else f"its `{task.id}`, or of the whole raw row where you make ids up",
        plan=task.model_dump_json(indent=1),
        notes=work.data_notes.read_text(encoding="utf-8"),
        listing=work.listing.read_text(encoding="utf-8"),
        summaries=summaries(work, tables[:MOST_SUMMARIES]),
    )
    script, contents = ask(policy, question, made, spent, tries=tries)
    write_whole(work.prepare_script, script.encode())
    write_whole(work.made, (json.dumps(facts_of(contents), indent=1, sort_keys=True) + "\n").encode())


def raw_bytes(work: Workspace) -> int:
    """Bytes of all raw files."""
    return sum(path.stat().st_size for path in work.raw.rglob("*") if path.is_file())


def facts_of(contents: Mapping[str, bytes]) -> dict[str, object]:
    """What later stages ask of the prepared files, which are not kept: hashes, and the sizes of four tables."""
    tables = {name: checks.Table(name, contents[name]) for name in checks.TABLES}
    return {
        "contents": {name: hashlib.sha256(content).hexdigest() for name, content in contents.items()},
        "rows": {name: len(table.rows) for name, table in tables.items()},
        "header": {name: table.header for name, table in tables.items()},
        "sample": _lines(contents[SAMPLE], PREVIEW_ROWS),
        "answers": reading.summarise_bytes(contents[ANSWERS]),
    }


def _lines(content: bytes, count: int) -> str:
    return "\n".join(content.decode("utf-8-sig").splitlines()[:count])
