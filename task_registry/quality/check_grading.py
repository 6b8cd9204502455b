"""Whether the task's own loader and grader say of right, wrong and lazy submissions what they should."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from openmle_env.errors import PackError
from openmle_env.graders.metrics.parameters import AnswerColumn
from openmle_env.task_registry.quality.checks import Unavailable, bad, check, good, skip
from openmle_env.task_registry.quality.lazy import attackers
from openmle_env.task_registry.quality.probes import PARTS
from openmle_env.types import Fault, Part, ResultStatus

if TYPE_CHECKING:
    from collections.abc import Iterator

    from openmle_env.task_registry.quality.checks import Found
    from openmle_env.task_registry.quality.probes import Columns, Probes
    from openmle_env.task_registry.quality.subject import Subject

CHANCE = {
    "roc_auc": 0.5,
    "roc_auc_ovr": 0.5,
    "concordance_index": 0.5,
    "gini": 0.0,
    "spearman": 0.0,
    "kendall_tau_b": 0.0,
    "pearson": 0.0,
    "ks_statistic": 0.0,
    "mcc": 0.0,
    "kappa": 0.0,
    "adjusted_rand": 0.0,
    "subgroup_bias_auc": 0.5,
}
"""What a constant prediction scores by metrics that compare orders or agreement with chance."""
TOLERANCE = 1e-6
"""How far from the top gold may be, and from chance a constant, as a share of the way from the sample to the top."""
WORST_TOLERANCE = 0.02
"""How far 'rewards.worst' may be from the sample's score, as the same share."""
LAZY, TRIVIAL = 0.3, 0.9
"""Shares of the way from the sample to gold: what predictions made of ids may reach, and a copy of the nearest row."""
KNOWS_MOST = 0.6
"""The same share of a sample submission that can only have been made from answers."""
MANY_ROWS = 300_000
"""In larger tasks fewer submissions are tried."""
FEW_ROWS = 20
"""A part with fewer rows tells little."""


@check("metric_defined", group="grading", severity="high", source="metric_smoke_test", acceptable=False)
def metric_defined(subject: Subject) -> Iterator[Found]:
    """The metric is defined and finite on both hidden parts, for the sample submission and for the right one.

    A score that is not there, or is no number, is no reward.
    """
    probes = subject.probes
    try:
        probes.made_grader()
    except PackError as error:
        yield bad(f"The answers cannot be graded: {error}")
        return
    for name in ("sample", "gold"):
        for part in PARTS:
            grade = probes.grade(name, part)
            if grade.status.fault is Fault.TASK:
                yield bad(f"The {name} submission has no score on the {part} part: {grade.message}")
    yield good("A score on both parts, for the sample submission and for the answers.")


@check("part_sizes", group="grading", severity="low", source="metric_smoke_test")
def part_sizes(subject: Subject) -> Iterator[Found]:
    """Both hidden parts have rows enough that are scored.

    With a few rows, a score tells luck rather than skill.
    """
    positions = subject.probes.grader.load().positions
    sizes = {part: len(positions[part]) for part in PARTS}
    for part, size in sizes.items():
        if size < FEW_ROWS:
            yield bad(f"The {part} part has {size} scored rows, so that its score tells little.")
    yield good(", ".join(f"{part}: {size:,} scored rows" for part, size in sizes.items()))


@check("sample_grades", group="grading", severity="high", source="metric_smoke_test", acceptable=False)
def sample_grades(subject: Subject) -> Iterator[Found]:
    """The sample submission passes the loader, and has a score on both parts.

    It is what agents copy to begin with.
    """
    yield from _need_scores(subject.probes, "sample", "The sample submission")


@check("gold_tops", group="grading", severity="high", source="metric_smoke_test", acceptable=False)
def gold_tops(subject: Subject) -> Iterator[Found]:
    """The answers themselves pass the loader, and reach the top of the metric on both parts.

    Where they do not, the grader compares something else than the description says.
    """
    probes, metric = subject.probes, subject.metric
    yield from _need_scores(probes, "gold", "The right submission")
    rewards = subject.pack.config.rewards
    bounds = metric.range if metric else (-math.inf, math.inf)
    top = bounds[1] if probes.grader.higher_is_better else bounds[0]
    for part in PARTS:
        gold, sample = probes.grade("gold", part).score, probes.grade("sample", part).score
        if gold is None or sample is None:
            continue
        way = abs(gold - sample) or 1.0
        if math.isfinite(top) and abs(top - gold) > TOLERANCE * way:
            yield bad(
                f"The right submission scores {gold:g} on the {part} part, and the metric's top is {top:g}.",
                severity="medium" if rewards and _reaches(probes, gold, rewards.best, way) else "high",
            )
        elif rewards and not _reaches(probes, gold, rewards.best, way):
            yield bad(
                f"'rewards.best' is {rewards.best:g}, and the right submission scores {gold:g} on the {part} part."
            )


@check("metric_direction", group="grading", severity="high", source="metric_smoke_test", acceptable=False)
def metric_direction(subject: Subject) -> Iterator[Found]:
    """Better submissions score better: the right one beats a noisy copy of it, and that beats the sample.

    A metric whose direction is turned round rewards whoever is wrong.
    """
    probes = subject.probes
    up = probes.grader.higher_is_better
    words = "higher" if up else "lower"
    for part in PARTS:
        scores = [probes.grade(name, part).score for name in ("gold", "noisy gold", "sample")]
        gold, noisy, sample = scores
        if gold is None or sample is None:
            continue
        evidence = f"{part}: gold {gold:g}, sample {sample:g}"
        if not _beats(gold, sample, up=up):
            yield bad(
                f"The sample submission is as good as the answers, though {words} is said to be better.", evidence
            )
            continue
        if noisy is None:
            yield skip("A mixture of sample and answers is no valid submission.")
            continue
        evidence = f"{part}: gold {gold:g}, noisy gold {noisy:g}, sample {sample:g}"
        if not _beats(gold, noisy, up=up):
            yield bad("A noisy copy of the answers is as good as the answers.", evidence)
        elif not _beats(noisy, sample, up=up):
            yield bad("A copy of the answers with some errors is no better than the sample.", evidence, "medium")
        else:
            yield good(f"{words} is better.", evidence)


@check("constant_at_chance", group="grading", severity="medium", source="metric_smoke_test")
def constant_at_chance(subject: Subject) -> Iterator[Found]:
    """A constant prediction is far from the top, and at chance for metrics of order and agreement.

    Ties that are broken in favour of the truth make a perfect score of nothing.
    """
    probes, metric = subject.probes, subject.metric
    for part in PARTS:
        scores = [probes.grade(name, part).score for name in ("constant", "sample", "gold")]
        constant, sample, gold = scores
        if constant is None or gold is None or sample is None:
            yield skip("A constant is no valid submission.")
            continue
        way = abs(gold - sample) or 1.0
        if abs(constant - gold) <= TOLERANCE * way:
            yield bad(f"A constant scores {constant:g} on the {part} part, as the answers do.", severity="high")
        elif metric is not None and metric.name in CHANCE:
            chance = CHANCE[metric.name]
            if abs(constant - chance) > TOLERANCE + 1e-9:
                yield bad(f"A constant scores {constant:g} on the {part} part, and chance is {chance:g}.")
            else:
                yield good(f"A constant scores {constant:g}, which is chance, on the {part} part.")


@check("permuted_stays_valid", group="grading", severity="high", source="metric_smoke_test", acceptable=False)
def permuted_stays_valid(subject: Subject) -> Iterator[Found]:
    """Whether a submission is valid never depends on which row has which prediction.

    Validity would tell answers, one question after the other.
    """
    probes, metric = subject.probes, subject.metric
    if metric is not None and metric.check is not None and _looks_at_rows(subject):
        yield skip(f"Predictions of the metric {metric.name} have a form of their own in each row.")
        return
    for name in ("sample", "gold"):
        plain = probes.grade(name, Part.VALIDATION)
        moved = probes.grade(f"permuted {name}", Part.VALIDATION)
        if not plain.valid or moved.valid:
            continue
        what = "invalid" if moved.status is ResultStatus.SUBMISSION_INVALID else "without a score"
        evidence = moved.message if name == "sample" else ""  # the other one is made of answers, and may be quoted
        yield bad(f"The {name} submission is valid, and {what} once its predictions change places.", evidence)


@check("metric_repeats", group="grading", severity="high", source="metric_smoke_test", acceptable=False)
def metric_repeats(subject: Subject) -> Iterator[Found]:
    """The same submission has the same score each time, in any order of its rows.

    A metric that rolls dice, or goes by the order of rows, rewards luck.
    """
    probes = subject.probes
    table = probes.mixed()
    order = np.random.default_rng(3).permutation(probes.rows)
    turned = {name: [cells[row] for row in order] for name, cells in table.items()}
    first = probes.grade("noisy gold", Part.VALIDATION).score
    if first is None:
        yield skip("A mixture of sample and answers is no valid submission.")
        return
    for what, content in (("again", probes.csv(table)), ("with its rows in another order", probes.csv(turned))):
        score = probes.score(content, Part.VALIDATION).score
        if score is None or not math.isclose(score, first, rel_tol=1e-9, abs_tol=1e-12):
            yield bad(f"One submission scores {first!r}, and {what} {score!r}.")


@check("broken_is_refused", group="grading", severity="high", source="metric_smoke_test", acceptable=False)
def broken_is_refused(subject: Subject) -> Iterator[Found]:
    """Broken submissions are refused: none at all, no rows, a row missing, a row twice, an id that is not asked for.

    Whoever leaves out what is hard must not be better for it.
    """
    probes = subject.probes
    names, ids = subject.schema.columns, subject.schema.id.name
    sample = probes.sample

    def rows(chosen: list[int], renamed: str | None = None) -> Columns:
        table = {name: [cells[row] for row in chosen] for name, cells in sample.items()}
        if renamed is not None:
            table[ids] = [renamed, *table[ids][1:]]
        return table

    everything = list(range(probes.rows))
    stranger = str(10**15 + 7) if subject.schema.id.kind == "integer" else "no such id"
    broken = {
        "an empty file": b"",
        "a header and no rows": (",".join(f'"{name}"' for name in names) + "\n").encode(),
        "a row missing": probes.csv(rows(everything[:-1])),
        "a row twice": probes.csv(rows([*everything, 0])),
        "an id that is not asked for": probes.csv(rows(everything, stranger)),
    }
    for what, content in broken.items():
        if not probes.grader.check(content).problems:
            yield bad(f"A submission with {what} is taken for valid.")
    yield good(f"Refused: {', '.join(broken)}.")


@check("reward_bounds", group="grading", severity="medium", source="metric_smoke_test")
def reward_bounds(subject: Subject) -> Iterator[Found]:
    """Reward 0 is what the sample submission scores on the validation part.

    A bound from elsewhere gives rewards for nothing, or takes them from honest work.
    """
    rewards, probes = subject.pack.config.rewards, subject.probes
    if rewards is None:
        yield good("The bounds are measured when the pack is prepared.")
        return
    sample = probes.grade("sample", Part.VALIDATION).score
    if sample is None:
        yield skip("The sample submission has no score.")
    elif abs(sample - rewards.worst) > WORST_TOLERANCE * abs(rewards.best - rewards.worst):
        yield bad(f"'rewards.worst' is {rewards.worst:g}, and the sample submission scores {sample:g}.")


@check("sample_knows_nothing", group="leaks", severity="high", source="metric_smoke_test")
def sample_knows_nothing(subject: Subject) -> Iterator[Found]:
    """The sample submission is no better than its own predictions in other places.

    A sample that was made from the answers gives them away.
    """
    probes = subject.probes
    names = [target.name for target in subject.schema.targets]
    if all(len(set(probes.sample[name])) == 1 for name in names):
        yield good("It predicts the same for every row.")
        return
    for part in PARTS:
        scores = [probes.grade(name, part).score for name in ("sample", "permuted sample", "gold")]
        sample, moved, gold = scores
        if sample is None or moved is None or gold is None:
            yield skip("The permuted sample is no valid submission.")
        elif (gain := _way(sample, moved, gold)) > LAZY:
            evidence = f"{part}: sample {sample:g}, permuted {moved:g}, answers {gold:g}"
            message = f"The sample submission knows {gain:.0%} of the answers. Fill it with one value."
            yield bad(message, evidence, "high" if gain > KNOWS_MOST else "medium")


@check("lazy_attackers", group="leaks", severity="high", source="metric_smoke_test")
def lazy_attackers(subject: Subject) -> Iterator[Found]:
    """Predictions made of ids, or of the order of rows, are worth nothing; a copy of the nearest row is not perfect.

    Whoever has not looked at the data must not be rewarded.
    """
    probes = subject.probes
    if probes.rows > MANY_ROWS:
        yield skip(f"The task has more than {MANY_ROWS:,} rows.")
        return
    tried = []
    for attacker in attackers(probes):
        table = attacker.table
        scores = [probes.score(probes.csv(table), part).score for part in PARTS]
        sample = [probes.grade("sample", part).score for part in PARTS]
        gold = [probes.grade("gold", part).score for part in PARTS]
        ways = [
            _way(one, worst, best)
            for one, worst, best in zip(scores, sample, gold, strict=True)
            if one is not None and worst is not None and best is not None
        ]
        if not ways:
            continue
        way = min(ways)
        tried.append(f"{attacker.name} {way:.2f}")
        if attacker.is_blind and way > LAZY:
            yield bad(f"{attacker.name} reach {way:.0%} of the way from the sample to the answers.")
        elif not attacker.is_blind and way > TRIVIAL:
            message = f"{attacker.name} reach {way:.0%} of the way from the sample to the answers: a look-up will do."
            yield bad(message, severity="medium")
    yield good("Shares of the way from the sample to the answers: " + (", ".join(tried) or "none can be made."))


def _need_scores(probes: Probes, name: str, what: str) -> Iterator[Found]:
    for part in PARTS:
        grade = probes.grade(name, part)
        if grade.status is ResultStatus.SUBMISSION_INVALID:
            codes = ", ".join(dict.fromkeys(problem.code for problem in grade.problems)) or "by the pack's own check"
            told = grade.message if name == "sample" else ""  # the other one is made of answers
            yield bad(f"{what} is refused ({codes}). {told}".rstrip())
            return
        if grade.score is None:
            raise Unavailable(f"{what} has no score: see metric_defined.")
        yield good(f"{grade.score:g} on the {part} part.")


def _reaches(probes: Probes, score: float, best: float, way: float) -> bool:
    short = best - score if probes.grader.higher_is_better else score - best
    return short <= TOLERANCE * way


def _beats(one: float, other: float, *, up: bool) -> bool:
    return not math.isclose(one, other, rel_tol=1e-9) and (one > other) == up


def _way(score: float, worst: float, best: float) -> float:
    """Share of the way from the worst to the best."""
    return (score - worst) / (best - worst) if not math.isclose(best, worst) else 0.0


def _looks_at_rows(subject: Subject) -> bool:
    """Whether the form of a prediction depends on its row, as that of a mask does on the size of its image."""
    metric = subject.metric
    return metric is not None and any(isinstance(mark, AnswerColumn) for _, mark, _ in metric.named_columns())
