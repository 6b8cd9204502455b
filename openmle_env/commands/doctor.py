"""``openmle doctor``, ``openmle sandbox doctor``: which sandbox is used and why, what is missing, how to get it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from openmle_env import settings
from openmle_env.commands.console import DONE, INFRASTRUCTURE, AsJson, emit, say, short_id, table, tell

if TYPE_CHECKING:
    from openmle_env.commands.doctor_report import Engine, Report
    from openmle_env.sandbox.gpus.survey import Row
    from openmle_env.sandbox.protocol import Confinement

LOW_DISK_MB = 1024
LOW_ENGINE_DISK_MB = 2048
"""An image takes most of one GiB, twice while it is built."""
_ALWAYS_IN_BUBBLEWRAP = (
    "the number of files is watched, not confined: a short peak can pass",
    "programs and shared libraries of this machine's /usr can be read and started",
)


def doctor(*, as_json: AsJson = False) -> int:
    """Check this machine: sandboxes, what they confine, the engine, GPUs, leftovers, settings, versions, disk space."""
    from openmle_env.commands.doctor_report import gather  # reaches for engines

    report = gather()
    code = DONE if report.usable else INFRASTRUCTURE
    if as_json:
        emit(report.document())
        return code
    rows = [[one.name, "yes" if one.usable else "no", one.reason, one.remedy] for one in report.backends]
    table("Sandboxes", ("name", "usable", "why", "what to do"), rows)
    for name, confinement in report.confinements.items():
        table(f"Confined by {name}", ("what", "how"), _confined(name, confinement))
    if report.engine:
        table("Engine", ("what", "value"), _engine(report.engine))
    if report.gpus:
        table("GPUs", ("device", "in use", "lent to", "not lent because"), [_gpu(row) for row in report.gpus])
    table("Settings", ("variable", "value"), [[_variable(key), value] for key, value in _settings(report)])
    versions = [[key, value or "not installed"] for key, value in report.versions.items()]
    table("Versions", ("of", "version"), versions)
    table("Folders", ("for", "folder", "free", ""), _folders(report), right=("free",))
    if report.leftovers.found:
        rows = [[item.kind, short_id(item.kind, item.id), item.reason] for item in report.leftovers.found]
        table("Left behind; 'openmle sandbox prune' removes it", ("what", "which", "why"), rows)
    _conclude(report)
    return code


def _conclude(report: Report) -> None:
    if report.used:
        tell(f"Programs run in the sandbox {report.used!r} (asked for: {report.asked_for!r}).")
    else:
        say(f"openmle: No sandbox is usable, so no program can be run. {report.trouble}")
    if report.gpu_trouble and report.expects_gpus:
        say(f"openmle: {report.gpu_trouble}")
    elif not report.gpus:
        tell(report.gpu_trouble or "No GPU is to be lent (OPENMLE_GPUS).")
    if report.engine and _is_low(report.engine):
        say(
            f"openmle: Only {report.engine.free_mb} MiB are free in {report.engine.facts.storage}, where the engine "
            "keeps images and containers. Free some: 'openmle sandbox prune --images', 'docker system df'."
        )
    for name, reason in report.unwritable.items():
        say(
            f"openmle: {reason}, so nothing can be written there. Set {_variable(name)} to a folder that you may write."
        )


def _confined(name: str, confinement: Confinement) -> list[list[str]]:
    files = "watched" if name == "bubblewrap" else "yes"
    rows = [
        ["memory", confinement.memory],
        ["CPU", "yes" if confinement.cpu else "no"],
        ["number of files", files if confinement.inodes else "no"],
    ]
    rows.append(["network", "yes, there is none" if confinement.network else "no, it can be reached"])
    notes = [*confinement.details, *(_ALWAYS_IN_BUBBLEWRAP if name == "bubblewrap" else ())]
    return [*rows, *(["note", note] for note in notes)]


def _engine(engine: Engine) -> list[list[str]]:
    facts = engine.facts
    runtimes = ", ".join(f"{name} (the default)" if name == facts.default_runtime else name for name in facts.runtimes)
    rows = [
        ["kind", f"{facts.kind} {facts.version} on {facts.system}, {facts.architecture}"],
        ["rootless", "yes" if facts.rootless else "no"],
        ["users mapped", "yes" if facts.user_remapping else "no"],
        ["control groups", f"version {facts.cgroup_version}, {facts.cgroup_driver}"],
        ["runtimes", runtimes],
        ["storage", f"{facts.storage} ({facts.storage_driver}), {_size(engine.free_mb)} free"],
    ]
    if _is_low(engine):
        rows[-1][1] += ": low"
    return [*rows, *(["note", said] for said in engine.differences)]


def _is_low(engine: Engine) -> bool:
    return engine.free_mb is not None and engine.free_mb < LOW_ENGINE_DISK_MB


def _gpu(row: Row) -> list[str]:
    used = "unknown" if row.used_mb is None else f"{row.used_mb} MiB"
    waiting = [f"{row.waiting} requests wait"] if row.waiting else []
    reason = row.quarantine or ("" if row.lent else "OPENMLE_GPUS does not name it")
    return [str(row.device), used, "; ".join([*row.holders, *waiting]), reason]


def _settings(report: Report) -> list[tuple[str, str]]:
    return [(name, value or "the default") for name, value in report.settings.items()]


def _folders(report: Report) -> list[list[str]]:
    return [
        [name, str(report.folders[name]), _size(free), _advice(name, free, report.unwritable.get(name))]
        for name, free in report.free_mb.items()
    ]


def _variable(name: str) -> str:
    return f"{settings.PREFIX}{name.upper()}"


def _advice(name: str, free: int | None, reason: str | None) -> str:
    if reason:
        return f"not writable: set {_variable(name)}"
    return "low: free some space" if free is not None and free < LOW_DISK_MB else "ok"


def _size(free: int | None) -> str:
    return "unknown" if free is None else f"{free} MiB"
