"""The sixth stage: a model chooses one of our metrics, or writes one where none fits; the answers are scored by it."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Any, NamedTuple

from pydantic import Field

from openmle_env.errors import PackError, PreparationError, UsageError
from openmle_env.files import write_whole
from openmle_env.policies.extraction import NoObject, NoProgram, extract_json, extract_program
from openmle_env.task_registry import files
from openmle_env.task_registry.builder import finishing, packing, prompts
from openmle_env.task_registry.builder import plan as plans
from openmle_env.task_registry.builder.conversation import SHORT_TOKENS, WrongAnswerError, ask
from openmle_env.task_registry.builder.splitting import raw_bytes
from openmle_env.task_registry.folder import open_pack
from openmle_env.task_registry.pack import Block
from openmle_env.task_registry.prepare import prepare

if TYPE_CHECKING:
    from collections.abc import Callable

    from openmle_env.graders.metrics import Metric
    from openmle_env.policies.protocol import Policy, Reply
    from openmle_env.sandbox.protocol import Sandbox
    from openmle_env.task_registry.builder.conversation import Spent
    from openmle_env.task_registry.builder.sources import Source
    from openmle_env.task_registry.builder.workspace import Workspace
    from openmle_env.task_registry.prepare import Prepared

OWN = "pack"
"""What a model names where no metric of ours fits."""


class Choice(Block):
    """What a model chose."""

    metric: str
    """One of ours, or ``pack``."""
    parameters: dict[str, Any] = Field(default_factory=dict)
    """Of a metric of ours."""
    reason: str = ""
    """Why."""


class Trial(NamedTuple):
    """What is the same for every choice that is tried."""

    source: Source
    work: Workspace
    licence: str
    raw_hash: str
    sandbox: Sandbox


def score(
    source: Source,
    work: Workspace,
    policy: Policy,
    spent: Spent,
    sandbox: Callable[[], Sandbox],
    *,
    tries: int,
    licence: str,
    raw_hash: str,
) -> tuple[str, ...]:
    """Choose the metric and write the pack; afterwards the work folder is a pack that was prepared.

    Returns:
        Notes on what was left out.

    Raises:
        GivenUpError: No metric was right in the tries.
        PolicyError: No answer could be had.
        SandboxUnavailableError: Nothing could be run.
    """
    plan = plans.read(work.plan)
    made = packing.read_made(work)
    packing.write_programs(work, tabular=plan.modality in {"tabular", "time series"})
    trial = Trial(source, work, licence, raw_hash, sandbox())
    parts = {
        "description": work.problem.read_text(encoding="utf-8"),
        "sample": made["sample"],
        "answers": made["answers"],
    }
    question = prompts.fill("metric", metrics=metric_list(), **parts)
    chosen, notes = ask(
        policy, question, lambda reply: _ours(reply, trial), spent, tries=tries, max_tokens=SHORT_TOKENS
    )
    if chosen == OWN:
        question = prompts.fill("metric_script", columns=prompts.quoted(plan.columns), **parts)
        notes = ask(policy, question, lambda reply: _own(reply, trial), spent, tries=tries)
    return notes


def metric_list() -> str:
    """Our metrics, a line each, for a model to choose from."""
    from openmle_env.graders import metric_words, metrics  # numpy

    lines = []
    for name in metrics.names():
        metric = metrics.get(name)
        given = f"; parameters: {' '.join(metric_words.parameter_lines(metric))}" if metric.parameters else ""
        lines.append(
            f"- {name} ({metric_words.direction(metric)}; {', '.join(metric.kinds)}{given}): {metric.description}"
        )
    return "\n".join(lines)


def _ours(reply: Reply, trial: Trial) -> tuple[str, tuple[str, ...]]:
    from openmle_env.graders import metrics  # numpy

    choice = extract_json(reply, Choice)
    if isinstance(choice, NoObject):
        raise WrongAnswerError(choice.message)
    if choice.metric == OWN:
        return OWN, ()
    try:
        metric = metrics.get(choice.metric, choice.parameters)
        metric.need_parameters()
    except (UsageError, PackError) as error:
        raise WrongAnswerError(f"{error} Choose a name of the list, or write {OWN!r}.") from None
    files.remove(trial.work.metric_script)
    stated: dict[str, object] = {"name": metric.name, "higher_is_better": metric.higher_is_better}
    if metric.given:
        stated["parameters"] = {key: list(one) if isinstance(one, tuple) else one for key, one in metric.given.items()}
    return metric.name, _tried(trial, stated, metric)


def _own(reply: Reply, trial: Trial) -> tuple[str, ...]:
    found = extract_program(reply)
    if isinstance(found, NoProgram):
        raise WrongAnswerError(found.message)
    classes = [node for node in ast.parse(found.source).body if isinstance(node, ast.ClassDef)]
    if not any(node.name.endswith("Metrics") for node in classes):
        raise WrongAnswerError("There is no class whose name ends in Metrics.")
    write_whole(trial.work.metric_script, found.source.encode())
    return _tried(trial, {"name": OWN}, None)


def _tried(trial: Trial, stated: dict[str, object], metric: Metric | None) -> tuple[str, ...]:
    """Write the pack with a metric and have the answers scored by it; then write down what was learnt."""
    source, work = trial.source, trial.work
    plan = plans.read(work.plan)
    packing.write_description(work, plan, metric)
    board, notes = _board(work, metric)

    def write(**more: Any) -> None:
        settings: dict[str, Any] = {"references": finishing.programs(work), "version": finishing.FIRST_VERSION, **more}
        packing.write_config(
            work,
            source,
            plan,
            stated,
            licence=trial.licence,
            raw_bytes=raw_bytes(work),
            raw_hash=trial.raw_hash,
            leaderboard=board,
            **settings,
        )

    def prepared() -> Prepared:
        try:
            return prepare(open_pack(work.folder), sandbox=trial.sandbox, show_trace=True)
        except (PackError, PreparationError) as error:
            raise WrongAnswerError(str(error)) from error

    write()
    first = prepared()
    train = first.public / "train.csv"
    known = finishing.labelled(first.manifest.submission, metric, plan.task_type, train, first.answers)
    if known != first.manifest.submission:
        write(submission=known)
        prepared()
    higher_is_better = first.manifest.higher_is_better
    scored, measured_in = finishing.measured(work, trial.sandbox, higher_is_better=higher_is_better)
    final: dict[str, Any] = {"submission": known, "references": scored, "measured_in": measured_in}
    write(**final)
    write(**final, version=finishing.version(work))
    return notes


def _board(work: Workspace, metric: Metric | None) -> tuple[bool, tuple[str, ...]]:
    """Whether the competition's leaderboard goes into the pack: only where its places fit the metric's direction."""
    if not work.leaderboard.is_file():
        return False, ()
    scores = [float(line) for line in work.leaderboard.read_text(encoding="utf-8").split()[1:]]
    falling = scores == sorted(scores, reverse=True)
    if metric is None or falling != metric.higher_is_better:
        return False, ("No medals: the leaderboard's scores are of another metric, by their direction.",)
    return True, ()
