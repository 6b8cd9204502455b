"""The agent: which operator is applied to what, read from the history alone."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from openmle_env.agents.grammar.genome import Genome, Origin, decode
from openmle_env.agents.grammar.layout import Layout, read_layout
from openmle_env.agents.grammar.operators import cheaper, crossover, draft, family_order, generator, improve, simpler
from openmle_env.agents.grammar.render import render
from openmle_env.types import Fault, ResultStatus

if TYPE_CHECKING:
    import random
    from collections.abc import Sequence

    from openmle_env.agents.protocol import Attempt
    from openmle_env.types import TaskSpec

_OWN_SCORE = re.compile(r"^Final Validation Score: (-?\d+(?:\.\d+)?)$", re.MULTILINE)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Trial:
    """An attempt of this grammar."""

    index: int
    genome: Genome
    origin: Origin
    gain: float | None
    """The score, signed so that higher is better; None where there is none."""


@dataclass(frozen=True, slots=True)
class GrammarAgent:
    """Composes scikit-learn programs without any model.

    An episode starts with drafts, each of another method family, up to half of its programs. Then it improves the
    best one, and every third time averages the two best of different families. A program that failed is repaired
    first. The agent keeps no state: the same seed, task and history give the same program.
    """

    seed: int = 0

    @property
    def name(self) -> str:
        """The agent's name in tables and records."""
        return "grammar"

    def propose(self, spec: TaskSpec, history: Sequence[Attempt]) -> str:
        """The next program.

        Raises:
            UsageError: The task is not a table with train.csv and test.csv.
        """
        layout = read_layout(spec)
        trials = _trials(history, layout)
        genome, origin = self._next(spec, layout, history, trials)
        return render(genome, layout, origin)

    def _next(
        self, spec: TaskSpec, layout: Layout, history: Sequence[Attempt], trials: list[_Trial]
    ) -> tuple[Genome, Origin]:
        rng = generator(self.seed, spec.slug, len(history))
        families = family_order(generator(self.seed, spec.slug, -1))
        failed = bool(history) and history[-1].outcome.status.fault is Fault.AGENT
        if failed and trials and trials[-1].index == len(history):
            repaired = _debug(layout, trials[-1], history[-1].outcome.status)
            if repaired is not None:
                return repaired
        ranked = sorted((trial for trial in trials if trial.gain is not None), key=lambda trial: -(trial.gain or 0.0))
        drafts = min(max(1, spec.programs // 2), len(families))
        if not failed and ranked and len(history) >= drafts:
            changed = None
            if (len(history) - drafts) % 3 == 0:
                changed = _crossover(rng, ranked, trials)
            changed = changed or _improve(rng, layout, ranked, trials)
            if changed is not None:
                return changed
        used = [trial.genome.models[0].family for trial in trials if trial.origin.operator == "draft"]
        family = min(families, key=used.count)  # the first of the least used
        return draft(rng, layout, family, plain=failed), Origin("draft")


def _trials(history: Sequence[Attempt], layout: Layout) -> list[_Trial]:
    trials = []
    for index, attempt in enumerate(history, 1):
        found = decode(attempt.program, classifies=layout.classifies)
        if found is not None:
            genome, origin = found
            trials.append(_Trial(index=index, genome=genome, origin=origin, gain=_gain(attempt, layout)))
    return trials


def _gain(attempt: Attempt, layout: Layout) -> float | None:
    score = attempt.outcome.score
    if score is None and attempt.outcome.status is ResultStatus.SUCCESS and not layout.stands_in:
        # The environment hides its scores: the program's own cross-validation has to do.
        found = _OWN_SCORE.search(attempt.outcome.execution.stdout)
        score = float(found[1]) if found else None
    if score is None:
        return None
    return score if layout.higher_is_better else -score


def _debug(layout: Layout, trial: _Trial, status: ResultStatus) -> tuple[Genome, Origin] | None:
    if status in {ResultStatus.TIMEOUT, ResultStatus.OUT_OF_MEMORY}:
        step = cheaper(layout, trial.genome)
    else:
        step = simpler(trial.genome)
    return None if step is None else (step.genome, Origin("debug", (trial.index,), step.change))


def _crossover(rng: random.Random, ranked: list[_Trial], trials: list[_Trial]) -> tuple[Genome, Origin] | None:
    best = ranked[0]
    families = {model.family for model in best.genome.models}
    for other in ranked[1:]:
        if {model.family for model in other.genome.models} != families:
            step = crossover(rng, best.genome, other.genome)
            if all(step.genome != trial.genome for trial in trials):
                return step.genome, Origin("crossover", (best.index, other.index), step.change)
    return None


def _improve(
    rng: random.Random, layout: Layout, ranked: list[_Trial], trials: list[_Trial]
) -> tuple[Genome, Origin] | None:
    credit = _credit(trials)
    tried = [trial.genome for trial in trials]
    for parent in ranked:  # the best one, or the next where all its neighbours were tried
        step = improve(rng, layout, parent.genome, credit, tried)
        if step is not None:
            return step.genome, Origin("improve", (parent.index,), step.change)
    return None


def _credit(trials: list[_Trial]) -> dict[str, float]:
    """What the episode has taught of each gene: changes that helped are worth repeating, others less so."""
    gains = {trial.index: trial.gain for trial in trials}
    credit: dict[str, float] = {}
    for trial in trials:
        before = (
            gains.get(trial.origin.parents[0]) if trial.origin.operator == "improve" and trial.origin.parents else None
        )
        if before is None:
            continue
        helped = trial.gain is not None and trial.gain > before
        for change in trial.origin.change.split("; "):
            gene = change.partition(":")[0]
            credit[gene] = credit.get(gene, 1.0) * (3.0 if helped else 0.3)
    return credit
