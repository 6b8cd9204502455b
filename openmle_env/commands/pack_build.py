"""``openmle pack build``: makes task packs of Kaggle competitions, Kaggle data sets and folders; a model writes."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from openmle_env.commands.console import AsJson, progress, say, unwritable
from openmle_env.commands.pack_build_report import report_access, report_build, report_plan, report_status
from openmle_env.errors import UsageError, unknown_name

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from openmle_env.policies.protocol import Policy
    from openmle_env.task_registry.builder.kaggle.client import KaggleClient
    from openmle_env.task_registry.builder.pipeline import Options
    from openmle_env.task_registry.builder.sources import Source
    from openmle_env.task_registry.builder.state import StageName


def build(
    sources: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="SOURCE",
            help="A Kaggle competition (name or address), a data set (owner/name), or a folder (./data).",
        ),
    ] = None,
    *,
    to: Annotated[Path, typer.Option("--to", metavar="DIR", help="The folder that gets the packs.")] = Path("packs"),
    listed: Annotated[
        Path | None, typer.Option("--from", metavar="FILE", help="A text file with more sources, one a line.")
    ] = None,
    execute: Annotated[
        bool, typer.Option("--execute", metavar="", help="Build. Without it, only the plan is shown.")
    ] = False,
    model: Annotated[
        str | None, typer.Option(metavar="NAME", help="Who writes, such as litellm:openai/gpt-4.1. See docs/models.md.")
    ] = None,
    stage: Annotated[str | None, typer.Option(metavar="NAME", help="Run this stage again, and no other.")] = None,
    from_stage: Annotated[
        str | None, typer.Option(metavar="NAME", help="Run this stage and all after it again.")
    ] = None,
    tries: Annotated[
        int, typer.Option(metavar="N", min=1, max=20, help="Answers of the model that are looked at for one thing.")
    ] = 4,
    max_cost: Annotated[
        float | None, typer.Option(metavar="DOLLARS", help="Stop asking the model when this much is spent in this run.")
    ] = None,
    max_tokens: Annotated[
        int | None, typer.Option(metavar="N", help="The same in tokens of questions and answers together.")
    ] = None,
    max_concurrency: Annotated[
        int, typer.Option(metavar="N", min=1, max=64, help="Tasks that are built at the same time.")
    ] = 1,
    file: Annotated[
        list[str] | None,
        typer.Option(metavar="PATTERN", help="Fetch only these files of a Kaggle source, such as '*.csv'; repeat it."),
    ] = None,
    info: Annotated[
        Path | None,
        typer.Option(metavar="FILE.csv", help="A table of what is known of sources, a column 'slug' in it."),
    ] = None,
    licence: Annotated[str, typer.Option(metavar="NAME", help="Licence of the data, such as CC-BY-4.0.")] = "",
    include_benchmarks: Annotated[
        bool,
        typer.Option("--include-benchmarks", metavar="", help="Build tasks that are part of public benchmarks, too."),
    ] = False,
    check_access: Annotated[
        bool, typer.Option("--check-access", metavar="", help="Only ask Kaggle which sources it hands out.")
    ] = False,
    status: Annotated[
        bool, typer.Option("--status", metavar="", help="Only show what became of the tasks in --to, and count them.")
    ] = False,
    as_json: AsJson = False,
) -> int:
    """Build task packs of raw data. Without --execute nothing is fetched, asked or written."""
    if status:
        return report_status(to, as_json=as_json)
    from openmle_env.task_registry.builder import info as infos
    from openmle_env.task_registry.builder import pipeline
    from openmle_env.task_registry.builder import sources as parsing

    given = [*(sources or ()), *(parsing.read_list(listed) if listed else ())]
    if not given:
        raise UsageError("Name what to build from, such as 'titanic', 'owner/name' or './data'; or use --status.")
    if stage and from_stage:
        raise UsageError("Give --stage, which runs one stage, or --from-stage, which runs all after it too; not both.")
    chosen = parsing.parse_all(given)
    if check_access:
        return _check_access(chosen, as_json=as_json)
    options = pipeline.Options(
        to=to,
        only=_stage(stage),
        since=_stage(from_stage),
        include_benchmarks=include_benchmarks,
        patterns=tuple(file or ()),
        licence=licence,
        table=infos.read_table(info) if info else {},
        tries=tries,
        concurrency=max_concurrency,
    )
    if why := unwritable(to):
        raise UsageError(f"Packs cannot be built into {to}: {why}. Choose another folder with --to.")
    if not execute:
        return _show_plan(chosen, options, model, as_json=as_json)
    policy = _policy(model, max_cost, max_tokens) if model else None
    return _execute(chosen, options, policy, as_json=as_json)


def _policy(model: str, max_cost: float | None, max_tokens: int | None) -> Policy:
    from openmle_env.policies import select
    from openmle_env.policies.ledger import Budget

    return select.create(model, budget=Budget(dollars=max_cost, tokens=max_tokens))


def _stage(name: str | None) -> StageName | None:
    from openmle_env.task_registry.builder.state import STAGES

    for stage in STAGES:
        if stage == name:
            return stage
    if name is None:
        return None
    raise unknown_name("stage", name, STAGES)


def _kaggle(sources: Sequence[Source]) -> KaggleClient | None:
    """Kaggle's client where one of the sources needs it, with one look for it and for keys."""
    from openmle_env.task_registry.builder.kaggle import client

    return client.connect() if any(source.on_kaggle for source in sources) else None


def _check_access(sources: Sequence[Source], *, as_json: bool) -> int:
    from openmle_env.task_registry.builder.kaggle import access

    client = _kaggle(sources)
    if client is None:
        raise UsageError("--check-access asks Kaggle, and none of the sources is from there.")
    with progress("asking Kaggle") as report:
        found = access.check_access(client, sources, lambda text: report(text, 0.0))
    return report_access(client, found, as_json=as_json)


def _show_plan(sources: Sequence[Source], options: Options, model: str | None, *, as_json: bool) -> int:
    """What a build would do, and what it would need; nothing is asked or written."""
    from openmle_env.errors import OpenMLEError
    from openmle_env.task_registry.builder import pipeline

    planned = [(source, *pipeline.to_run(source, options)) for source in sources]
    lacks = []
    stages = {stage for _, one, _ in planned for stage in one}
    fetching = [source for source, one, _ in planned if "download" in one]
    if model is None and pipeline.needs_model([*stages]):
        lacks.append("a model: name one with --model")
    try:
        _kaggle(fetching)
    except OpenMLEError as error:
        lacks.append(f"Kaggle: {error}")
    return report_plan(planned, options, lacks, asks_model=pipeline.needs_model([*stages]), as_json=as_json)


def _execute(sources: Sequence[Source], options: Options, policy: Policy | None, *, as_json: bool) -> int:
    from dataclasses import replace

    from openmle_env.task_registry.builder import pipeline

    planned = {source.slug: pipeline.to_run(source, options)[0] for source in sources}
    stages = {stage for one in planned.values() for stage in one}
    if policy is None and pipeline.needs_model([*stages]):
        raise UsageError("These stages ask a model, and none was named. Name one: --model litellm:PROVIDER/MODEL")
    fetching = [source for source in sources if "download" in planned[source.slug]]
    try:
        client = _kaggle(fetching)
        with progress("building") as report:
            if client is not None:
                _warn_of_access(client, fetching, report)
            states = pipeline.build(
                sources,
                replace(options, policy=policy, kaggle=client),
                tell=lambda text: report(text, _share(options)),
            )
    finally:
        if policy is not None:
            policy.close()
    return report_build(states, options.to, as_json=as_json)


def _warn_of_access(client: KaggleClient, sources: Sequence[Source], report: Callable[[str, float], None]) -> None:
    """Say before the first download which rules are still to be accepted. Kaggle's answer to a download counts."""
    from openmle_env.task_registry.builder.kaggle import access

    for one in access.check_access(client, sources, lambda text: report(text, 0.0)):
        if one.verdict != "ready":
            say(f"{one.source.name}: {one.verdict}. {one.reason}")


def _share(options: Options) -> float:
    """How much is done: stages that are, of those that there are."""
    from openmle_env.task_registry.builder import workspace
    from openmle_env.task_registry.builder.state import STAGES

    states = [one for one in workspace.states(options.to) if not one.excluded]
    done = sum(one.done(name) for one in states for name in STAGES)
    return done / max(1, len(STAGES) * len(states))
