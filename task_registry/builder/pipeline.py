"""Building packs, stage by stage: what is done and still right is skipped, and one task's fault is not another's."""

from __future__ import annotations

import threading
import time
from concurrent.futures import ThreadPoolExecutor, wait
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from openmle_env.errors import OpenMLEError, PackError, UsageError
from openmle_env.policies.failures import ModelError
from openmle_env.printable import printable
from openmle_env.task_registry import files
from openmle_env.task_registry.builder import digests, fetch, funnel, info, state, workspace
from openmle_env.task_registry.builder.conversation import Spent
from openmle_env.task_registry.builder.describe import describe
from openmle_env.task_registry.builder.gate import check
from openmle_env.task_registry.builder.kaggle.client import UnobtainableError
from openmle_env.task_registry.builder.perceive import perceive
from openmle_env.task_registry.builder.scoring import score
from openmle_env.task_registry.builder.splitting import split
from openmle_env.task_registry.builder.state import MODEL_STAGES, STAGES, Stage, StageName, TaskState
from openmle_env.task_registry.builder.workspace import DESCRIPTION, Workspace
from openmle_env.task_registry.contamination.names import excluded_by_name
from openmle_env.task_registry.on_demand import SandboxOnDemand
from openmle_env.task_registry.pack_yaml import PACK_FILE

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from openmle_env.policies.protocol import Policy
    from openmle_env.sandbox.protocol import Sandbox
    from openmle_env.task_registry.builder.kaggle.client import KaggleClient
    from openmle_env.task_registry.builder.sources import Source

    Tell = Callable[[str], None]

TRIES = 4
"""How many answers of a model are looked at for one thing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """How packs are built."""

    to: Path
    """The folder that gets them."""
    policy: Policy | None = None
    """Who writes; None where no stage that asks a model is to run."""
    kaggle: KaggleClient | None = None
    """Kaggle's client; None where nothing comes from there."""
    only: StageName | None = None
    """Run this stage again, and no other."""
    since: StageName | None = None
    """Run this stage and all after it again."""
    include_benchmarks: bool = False
    """Build what a benchmark has a task of, too."""
    patterns: tuple[str, ...] = ()
    """Which files of a Kaggle source are fetched; all, if none is given."""
    licence: str = ""
    """Licence of the data, where the source does not say it."""
    table: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    """What is known of sources, by name (see `openmle_env.task_registry.builder.info`)."""
    tries: int = TRIES
    """How many answers of a model are looked at for one thing."""
    concurrency: int = 1
    """How many tasks are built at the same time."""


def excluded(source: Source, *, include_benchmarks: bool) -> str:
    """The benchmark for whose sake a source is left out; empty where there is none."""
    if include_benchmarks:
        return ""
    return next((found for name in source.benchmark_names if (found := excluded_by_name(name))), "")


def build(
    sources: Sequence[Source], options: Options, *, sandbox: Sandbox | None = None, tell: Tell = lambda _text: None
) -> list[TaskState]:
    """Build the packs of some sources, as far as they go, and count what became of all in this folder.

    May be ended at any moment and started again: a stage is whole or was not run.

    Args:
        sources: Where the data comes from.
        options: How.
        sandbox: Where scripts and metrics run; the one of the settings is started if need be.
        tell: Told what is being done.

    Returns:
        What became of each source, in their order.
    """
    options.to.mkdir(parents=True, exist_ok=True)
    stop = threading.Event()
    with _Box(sandbox) as box, ThreadPoolExecutor(max(1, options.concurrency), "openmle-build") as pool:
        futures = [pool.submit(_Builder(source, options, box.get, tell, stop).run) for source in sources]
        try:
            wait(futures)
        except BaseException:
            stop.set()
            pool.shutdown(wait=True, cancel_futures=True)
            raise
        finally:
            funnel.store(options.to / workspace.WORK, funnel.count(workspace.states(options.to)))
    return [future.result() for future in futures]


class _Box(SandboxOnDemand):
    """A sandbox that is started once, whichever thread asks first."""

    def __init__(self, given: Sandbox | None) -> None:
        super().__init__(given)
        self._lock = threading.Lock()

    def get(self) -> Sandbox:
        with self._lock:
            return super().get()


class _Builder:
    """One task on its way through the stages."""

    def __init__(
        self, source: Source, options: Options, sandbox: Callable[[], Sandbox], tell: Tell, stop: threading.Event
    ) -> None:
        self.source, self.options, self.sandbox, self.tell, self.stop = source, options, sandbox, tell, stop
        self.work = Workspace(options.to.resolve(), source.slug)
        self.notes: list[str] = []

    def run(self) -> TaskState:
        fresh = TaskState(slug=self.source.slug, kind=self.source.kind, name=self.source.name)
        try:
            with (
                files.storage_errors(self.work.folder),
                self.work.locked(lambda: self.tell(f"{self.source.slug}: waiting for another process")),
            ):
                return self._run(fresh)
        except OpenMLEError as error:  # of what stands around the stages, such as a state of another version
            return self._failed(fresh, "download", str(error))

    def _run(self, fresh: TaskState) -> TaskState:
        current = state.read(self.work.folder) or fresh
        if (current.kind, current.name) != (fresh.kind, fresh.name):
            raise PackError(
                f"{self.work.folder} holds the build of {current.name!r}. Build {fresh.name!r} into another folder."
            )
        benchmark = excluded(self.source, include_benchmarks=self.options.include_benchmarks)
        current = current.model_copy(update={"excluded": benchmark})
        if benchmark:
            state.write(self.work.folder, current)
            self.tell(f"{self.source.slug}: left out, {current.reason}")
            return current
        self.work.need_place()  # before anything is fetched, and anybody paid
        if again := self.options.only or self.options.since:
            current = self._checked(current, again)
        for name in STAGES:
            if self.stop.is_set():
                break
            if self.options.only and STAGES.index(name) > STAGES.index(self.options.only):
                break
            try:
                inputs = self._inputs(name)
            except OpenMLEError as error:
                return self._failed(current, name, str(error))
            if current.done(name) and current.stages[name].inputs == inputs:
                continue
            current = self._stage(current, name, inputs)
            if not current.done(name):
                break
        return current

    def _checked(self, current: TaskState, again: StageName) -> TaskState:
        """The state in which a stage is still to run, if those before it are done."""
        if missing := [name for name in STAGES[: STAGES.index(again)] if not current.done(name)]:
            raise UsageError(
                f"{self.source.slug}: stage {again!r} cannot be run again, {missing[0]!r} is not done yet."
            )
        kept = {name: stage for name, stage in current.stages.items() if name != again}
        return current.model_copy(update={"stages": kept}) if self.options.only else current.without(again)

    def _stage(self, current: TaskState, name: StageName, inputs: str) -> TaskState:
        """Run one stage and write down what came of it."""
        self.tell(f"{self.source.slug}: {name}")
        started, spent, reason = time.monotonic(), Spent(), ""
        outcome: str = "done"
        self.notes = list(current.notes) if name != "download" else []
        try:
            with files.storage_errors(self.work.folder):
                self._do(name, spent)
        except UnobtainableError as error:
            outcome, reason = "unobtainable", str(error)
        except OpenMLEError as error:
            outcome, reason = "failed", str(error)
            if isinstance(error, ModelError) and error.terminal:
                self.stop.set()  # no other task would fare better: nothing more is fetched for them
        done = Stage.model_validate(
            {
                "outcome": outcome,
                "inputs": inputs,
                "tries": max(1, spent.tries),
                "reason": printable(reason),
                "seconds": round(time.monotonic() - started, 3),
                "model": spent.model,
                "input_tokens": spent.input_tokens,
                "output_tokens": spent.output_tokens,
                "cost": spent.cost,
            }
        )
        stages = {**current.stages, name: done}
        current = current.model_copy(update={"stages": stages, "notes": tuple(dict.fromkeys(self.notes))})
        current = self._still_right(current, name)
        state.write(self.work.folder, current)
        if reason:
            self.tell(f"{self.source.slug}: {name} {outcome}: {reason}")
        return current

    def _still_right(self, current: TaskState, name: StageName) -> TaskState:
        """Drop what later stages made of something else than there is now."""
        for later in STAGES[STAGES.index(name) + 1 :]:
            if later not in current.stages:
                continue
            if current.stages[name].outcome != "done":
                return current.without(later)
            try:
                inputs = self._inputs(later)
            except OpenMLEError:
                return current.without(later)
            if current.stages[later].inputs != inputs:
                return current.without(later)
        return current

    def _failed(self, current: TaskState, name: StageName, reason: str) -> TaskState:
        """Tell of a fault without writing over a state that may be worth something."""
        self.tell(f"{self.source.slug}: {reason}")
        failed = Stage(outcome="failed", inputs="", reason=printable(reason))
        return current.model_copy(update={"stages": {**current.stages, name: failed}})

    def _inputs(self, name: StageName) -> str:
        """What a stage reads, as one hash."""
        work, source = self.work, self.source
        origin = fetch.folder_digest(source, self.options.to) if source.kind == "folder" else ""
        if name == "download":
            return digests.digest(source.kind, source.name, *self.options.patterns, origin)
        if name == "extract":
            return origin or digests.tree_digest(work.download, work.folder / "notes" / "download.hashes.json")
        raw = self._raw_hash()
        if name == "perceive":
            return digests.digest(raw, digests.text_digest(work.info, work.listing))
        if name == "describe":
            return digests.text_digest(work.info, work.listing, work.data_notes)
        if name == "prepare":
            return digests.digest(raw, digests.text_digest(work.plan, work.data_notes, work.listing))
        if name == "metric":
            return digests.digest(
                self.options.licence,
                raw,
                digests.text_digest(
                    work.plan, work.problem, work.prepare_script, work.made, work.leaderboard, work.info
                ),
            )
        own = (work.folder / PACK_FILE, work.folder / DESCRIPTION, work.prepare_script, work.metric_script)
        return digests.digest(raw, digests.text_digest(*own, work.leaderboard))

    def _raw_hash(self) -> str:
        return digests.tree_digest(self.work.raw, self.work.hashes)

    def _do(self, name: StageName, spent: Spent) -> None:
        work, options = self.work, self.options
        if name == "download":
            client = options.kaggle
            if self.source.on_kaggle and client is None:
                raise UsageError("Kaggle's client is needed for the stage 'download', and none was given.")
            told, notes = fetch.download(
                self.source, work, client if self.source.on_kaggle else None, options.patterns, self.tell
            )
            info.write(work.info, info.of(self.source, options.table, told))
            self.notes += notes
        elif name == "extract":
            self.notes += fetch.extract(self.source, work)
        elif name == "check":
            check(work, self.sandbox())
        else:
            self._ask(name, spent)

    def _ask(self, name: StageName, spent: Spent) -> None:
        """Run a stage that asks a model."""
        work, options, policy = self.work, self.options, self.options.policy
        if policy is None:
            raise UsageError(f"The stage {name!r} asks a model, and none was named. Name one: --model NAME")
        if name == "perceive":
            perceive(work, policy, spent)
        elif name == "describe":
            describe(work, policy, spent, tries=options.tries)
        elif name == "prepare":
            split(work, policy, spent, self.sandbox, self.tell, tries=options.tries)
        else:
            self.notes += score(
                self.source,
                work,
                policy,
                spent,
                self.sandbox,
                tries=options.tries,
                licence=options.licence,
                raw_hash=self._raw_hash(),
            )


def to_run(source: Source, options: Options) -> tuple[list[StageName], str]:
    """Which stages a build would run for a source, as far as can be told without running one; and why none, if none.

    Raises:
        PackError: The state cannot be read.
    """
    if benchmark := excluded(source, include_benchmarks=options.include_benchmarks):
        return [], f"left out: {benchmark} has a task of this name (--include-benchmarks builds it all the same)"
    known = state.read(Workspace(options.to.resolve(), source.slug).folder)
    done = {name for name in STAGES if known is not None and known.done(name)}
    if options.only:
        return [options.only], ""
    if options.since:
        done -= set(STAGES[STAGES.index(options.since) :])
    first = next((place for place, name in enumerate(STAGES) if name not in done), len(STAGES))
    return list(STAGES[first:]), "" if first < len(STAGES) else "done, if its source did not change"


def needs_model(stages: Sequence[StageName]) -> bool:
    """Whether one of the stages asks a model."""
    return any(name in MODEL_STAGES for name in stages)
