"""The last stage: the quality gate looks at the pack, and one that it takes is put in its place."""

from __future__ import annotations

from typing import TYPE_CHECKING

from openmle_env.errors import PackError
from openmle_env.files import write_whole
from openmle_env.task_registry.folder import open_pack
from openmle_env.task_registry.quality.gate import check_pack

if TYPE_CHECKING:
    from openmle_env.sandbox.protocol import Sandbox
    from openmle_env.task_registry.builder.workspace import Workspace

MAX_SHOWN = 5


class GateError(PackError):
    """The quality gate refuses the pack; the findings stand in the report."""


def check(work: Workspace, sandbox: Sandbox) -> None:
    """Run every deterministic check, keep the report, and publish the pack if no hard one fails.

    Raises:
        GateError: A hard check failed. The pack stays where it is worked on.
        PackError: The pack does not open, or something is in its way.
        InfrastructureError: The checks could not be run.
    """
    report = check_pack(open_pack(work.folder), sandbox=sandbox).report
    write_whole(work.report, (report.model_dump_json(indent=1) + "\n").encode())
    hard = [finding for finding in report.findings if finding.is_hard]
    if hard:
        said = "; ".join(f"{finding.check}: {finding.message}" for finding in hard[:MAX_SHOWN])
        raise GateError(
            f"the quality gate found {len(hard)} faults that no task may have. {said} The whole report is "
            f"{work.report}. Correct the files in {work.folder} and run the stage 'check' again, or an earlier stage."
        )
    work.publish()
