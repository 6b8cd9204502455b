"""Running the checks over a pack, and putting together what they found."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from openmle_env.errors import OpenMLEError, PackError, PreparationError
from openmle_env.task_registry.on_demand import SandboxOnDemand
from openmle_env.task_registry.prepare import prepare
from openmle_env.task_registry.quality import evidence
from openmle_env.task_registry.quality.checks import Check, Found, Unavailable, good, registered, skip
from openmle_env.task_registry.quality.report import Evidence, Finding, Report, of_checks
from openmle_env.task_registry.quality.subject import Subject

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from openmle_env.sandbox.protocol import Sandbox
    from openmle_env.task_registry.folder import Pack

    Progress = Callable[[str, float], None]

MAX_SAME = 10
"""As many faults of one check are listed."""
_PREPARED = 0.3
"""The share that is done when the data is there."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Checked:
    """What the gate knows of a pack."""

    report: Report
    """What the checks found."""
    evidence: Evidence
    """What a judge is shown."""


def check_pack(
    pack: Pack,
    *,
    sandbox: Sandbox | None = None,
    checks: Mapping[str, Check] | None = None,
    progress: Progress | None = None,
) -> Checked:
    """Run checks over a pack; its own code runs in the sandbox only.

    Args:
        pack: An opened pack. One that does not open has no report but `not_opened`.
        sandbox: Where its code runs. Left out, the one of the settings is started if any code has to run.
        checks: Which checks; all, if None.
        progress: Told what is being done, and the share that is done, from 0 to 1.

    Raises:
        InfrastructureError: The machine failed while the data was made: nothing is known of the pack.
    """
    tell = progress or (lambda _message, _share: None)
    chosen = registered() if checks is None else checks
    with SandboxOnDemand(sandbox) as on_demand:
        subject = _subject(pack, sandbox, on_demand, tell)
        findings: list[Finding] = []
        for done, check in enumerate(chosen.values()):
            tell(f"{pack.slug}: checking {check.group}", _PREPARED + (1 - _PREPARED) * done / len(chosen))
            findings += _findings(check, subject)
        usage = subject.usage if _has_usage(subject) else None
        report = of_checks(
            task=pack.slug, version=pack.version, pack_hash=pack.hash, findings=tuple(findings), usage=usage
        )
        return Checked(report=report, evidence=evidence.gather(subject, usage))


def not_opened(slug: str, error: OpenMLEError) -> Report:
    """The report of a pack that does not open."""
    check = registered()["opens"]
    finding = Finding(
        check=check.name,
        severity=check.severity,
        outcome="failed",
        message=str(error),
        evidence_source=check.source,
    )
    return of_checks(task=slug, version="", pack_hash="", findings=(finding,), usage=None)


def _subject(pack: Pack, given: Sandbox | None, sandbox: SandboxOnDemand, tell: Progress) -> Subject:
    try:
        # Without the words of the pack's own metric, which may quote the answers: reports are passed on.
        prepared = prepare(pack, sandbox=given, progress=lambda message, share: tell(message, share * _PREPARED))
    except (PackError, PreparationError) as error:
        return Subject(pack, sandbox, None, error)
    return Subject(pack, sandbox, prepared)


def _findings(check: Check, subject: Subject) -> list[Finding]:
    """What one check found: its faults, or else one finding that it passed or could not look."""
    found: list[Found] = []
    try:
        found.extend(check.function(subject))
    except Unavailable as reason:
        found.append(skip(str(reason)))
    except (PackError, PreparationError) as error:  # what the check looks at cannot be read
        found.append(skip(f"It cannot be looked at: {error}"))
    faults = [one for one in found if one.outcome == "failed"]
    if faults:
        reasons = {entry.check: entry.reason for entry in subject.pack.config.accepted}
        return [
            _finding(check, one, reasons.get(check.name) if check.acceptable else None) for one in faults[:MAX_SAME]
        ]
    return [_finding(check, _together(found), None)]


def _together(found: list[Found]) -> Found:
    """One finding of a check that found no fault."""
    passed = [one for one in found if one.outcome == "passed"]
    chosen = passed or found or [good("Nothing was found.")]
    evidence_texts = list(dict.fromkeys(one.evidence for one in chosen if one.evidence))
    messages = list(dict.fromkeys(one.message for one in chosen))
    return Found(outcome=chosen[0].outcome, message=" ".join(messages), evidence="; ".join(evidence_texts))


def _finding(check: Check, found: Found, accepted: str | None) -> Finding:
    return Finding(
        check=check.name,
        severity=found.severity or check.severity,
        outcome="accepted" if accepted is not None else found.outcome,
        message=found.message,
        evidence_source=check.source,
        evidence=found.evidence,
        reason=accepted or "",
    )


def _has_usage(subject: Subject) -> bool:
    try:
        return subject.usage is not None
    except (Unavailable, PackError, PreparationError):
        return False
