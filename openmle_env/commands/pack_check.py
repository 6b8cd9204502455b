"""``openmle pack check``: proves task packs sound, and has a model judge what no check can tell."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path  # noqa: TC003  typer reads the annotations
from typing import TYPE_CHECKING, Annotated

import typer

from openmle_env import settings
from openmle_env.commands.console import (
    DONE,
    FAILED,
    INFRASTRUCTURE,
    WRONG_USE,
    AsJson,
    emit,
    near,
    progress,
    say,
    table,
    tell,
    unwritable,
)
from openmle_env.errors import InfrastructureError, PackError, PolicyError, SandboxUnavailableError, UsageError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from openmle_env.policies.protocol import Policy
    from openmle_env.sandbox.protocol import Sandbox
    from openmle_env.task_registry.quality.checks import Check
    from openmle_env.task_registry.quality.report import Finding, Report

_ORDER = {"failed": 0, "accepted": 1, "skipped": 2, "passed": 3}
_SEVERITIES = {"high": 0, "medium": 1, "low": 2}


@dataclass(frozen=True, slots=True, kw_only=True)
class _Result:
    """What came of one pack: a report, or why the machine gave none."""

    name: str
    report: Report | None = None
    trouble: str = ""
    code: int = DONE
    """What the command ends with for the trouble."""


def check(
    packs: Annotated[
        list[str] | None,
        typer.Argument(metavar="PACK", help="Names of tasks, or folders of task packs."),
    ] = None,
    *,
    suite: Annotated[
        str | None, typer.Option(metavar="NAME|FILE.json", help="Check the packs of a suite, too: 'all', for one.")
    ] = None,
    checks: Annotated[
        str | None, typer.Option(metavar="A,B", help="Only these checks, or kinds of checks. All, if left out.")
    ] = None,
    model: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="A model that judges what passes, such as litellm:openai/gpt-4.1."),
    ] = None,
    report: Annotated[
        Path | None, typer.Option(metavar="FILE.json", help="Write all reports and the counts to a file.")
    ] = None,
    everything: Annotated[bool, typer.Option("--all", metavar="", help="Show passed checks, too.")] = False,
    as_json: AsJson = False,
) -> int:
    """Check task packs; exits with 1 if one is not sound."""
    from openmle_env.task_registry.quality import checks as registry  # pydantic and more
    from openmle_env.task_registry.suites import members

    names = [*(packs or []), *(members(suite) if suite else [])]
    if not names:
        raise UsageError("No pack is named. Give names of tasks, folders of packs, or --suite.")
    if report is not None and (report.is_dir() or not report.absolute().parent.is_dir()):
        raise UsageError(f"--report {str(report)!r} is no file in a folder that exists.")
    if report is not None and (why := unwritable(report.absolute().parent)):
        raise UsageError(f"--report {str(report)!r} cannot be written: {why}.")
    chosen = registry.registered() if checks is None else registry.named([one.strip() for one in checks.split(",")])
    policy = _policy(model)
    try:
        results = _check_all(list(dict.fromkeys(names)), chosen, policy)
    finally:
        if policy is not None:
            policy.close()
    counts = _funnel(results, stored=report is not None)
    document = {"counts": counts, "packs": [_as_document(result) for result in results]}
    if report is not None:
        _write(report, document)
    if as_json:
        emit(document)
    else:
        for result in results:
            _print(result, everything=everything, some=checks is not None)
        _print_counts(counts, report)
    if any(result.report is not None and result.report.failed_hard for result in results):
        return FAILED
    return max(result.code for result in results)


def _policy(model: str | None) -> Policy | None:
    if model is None:
        return None
    from openmle_env.policies import select

    return select.create(model)


def _check_all(names: list[str], chosen: Mapping[str, Check], policy: Policy | None) -> list[_Result]:
    results = []
    with progress("checking") as bar:
        sandbox = _sandbox(bar)
        try:
            for done, name in enumerate(names):
                start, width = done / len(names), 1 / len(names)

                def part(message: str, share: float, start: float = start, width: float = width) -> None:
                    bar(message, start + share * width)

                results.append(_check(name, chosen, sandbox, policy, part))
        finally:
            if sandbox is not None:
                sandbox.close()
    return results


def _sandbox(bar: Callable[[str, float], None]) -> Sandbox | None:
    """One sandbox for all packs, whose programs share a box; None, and a warning, where none works here."""
    from openmle_env.sandbox import select

    wanted = settings.load()
    try:
        return select.create(wanted.sandbox, image=wanted.image, warm="forked")
    except SandboxUnavailableError as error:
        bar("no sandbox works here", 0.0)
        say(f"Warning: {error}\nWhat would have to run is not checked.")
        return None


def _check(
    name: str,
    chosen: Mapping[str, Check],
    sandbox: Sandbox | None,
    policy: Policy | None,
    bar: Callable[[str, float], None],
) -> _Result:
    from openmle_env.task_registry.lookup import find
    from openmle_env.task_registry.quality import gate

    try:
        pack = find(name)
    except PackError as error:
        return _Result(name=name, report=gate.not_opened(name, error))
    except UsageError as error:
        return _Result(name=name, trouble=str(error), code=WRONG_USE)
    try:
        checked = gate.check_pack(pack, sandbox=sandbox, checks=chosen, progress=bar)
    except InfrastructureError as error:
        return _Result(name=name, trouble=str(error), code=INFRASTRUCTURE)
    found = checked.report
    if policy is not None and not found.failed_hard:
        from openmle_env.task_registry.quality.judgement import judge

        bar(f"{pack.slug}: asking {policy.name}", 1.0)
        try:
            found = judge(found, checked.evidence, policy)
        except PolicyError as error:
            found = found.not_judged(str(error), policy.name)
    return _Result(name=name, report=found)


def _funnel(results: list[_Result], *, stored: bool) -> dict[str, int]:
    """How many packs there were, opened, could be prepared, passed, and stand in the report."""
    reports = [result.report for result in results if result.report is not None]
    opened = [one for one in reports if not _failed(one, "opens")]
    executable = [one for one in opened if not _failed(one, "prepares")]
    return {
        "candidates": len(results),
        "eligible": len(opened),
        "executable": len(executable),
        "passed": sum(1 for one in executable if not one.failed_hard),
        "stored": len(results) if stored else 0,
    }


def _failed(report: Report, check_name: str) -> bool:
    return any(one.check == check_name and one.outcome == "failed" for one in report.findings)


def _as_document(result: _Result) -> dict[str, object]:
    if result.report is None:
        return {"pack": result.name, "error": result.trouble, "report": None}
    return {"pack": result.name, "error": None, "report": result.report.model_dump(mode="json")}


def _write(path: Path, document: Mapping[str, object]) -> None:
    import json

    from openmle_env.files import write_whole

    write_whole(path, (json.dumps(document, indent=1, ensure_ascii=True, allow_nan=False) + "\n").encode())


def _print(result: _Result, *, everything: bool, some: bool) -> None:
    """Show what came of one pack; ``some``: not all checks were run, so that nobody knows whether it is sound."""
    if result.report is None:
        tell(f"{result.name}: nothing is known of it. {result.trouble}\n")
        return
    found = sorted(result.report.findings, key=lambda one: (_ORDER[one.outcome], _SEVERITIES[one.severity]))
    shown = [one for one in found if everything or one.outcome in {"failed", "accepted"}]
    passed = sum(1 for one in found if one.outcome == "passed")
    skipped = sum(1 for one in found if one.outcome == "skipped")
    verdict = "passes what was looked at" if some else "is sound"
    verdict = "is not sound" if result.report.failed_hard else verdict
    counted = f"{passed} checks passed, {skipped} had nothing to look at"
    title = f"{result.report.task} {result.report.version} {verdict}: {counted}"
    if shown:
        table(title, ("check", "outcome", "severity", "finding"), [_row(one) for one in shown])
    else:
        tell(title)
    _print_judgement(result.report)


def _row(finding: Finding) -> tuple[str, str, str, str]:
    lines = [finding.message]
    if finding.evidence:
        lines.append(f"Evidence: {finding.evidence}")
    if finding.reason:
        lines.append(f"The author says: {finding.reason}")
    return finding.check, finding.outcome, finding.severity, "\n".join(lines)


def _print_judgement(report: Report) -> None:
    if report.judgement_error:
        tell(f"{report.judge} gave no judgement, which is no fault of the task: {report.judgement_error}")
    if report.source == "model":
        rows = [(one.name.replace("_", " "), f"{one.score:g}", one.reason) for one in report.dimensions]
        table(f"{report.recommendation}: {report.overall:.2f} of 5, by {report.judge}",
              ("dimension", "score", "reason"), rows, right=("score",))  # fmt: skip
        for issue in report.issues:
            tell(f"{issue.severity}: {issue.message} ({issue.evidence_source}: {issue.evidence})")


def _print_counts(counts: Mapping[str, int], report: Path | None) -> None:
    tell(
        f"{counts['candidates']} candidates, {counts['eligible']} eligible, {counts['executable']} executable, "
        f"{counts['passed']} passed, {counts['stored']} stored."
    )
    if report is not None:
        tell(f"Reports: {near(report.absolute())}")
