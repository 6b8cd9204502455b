"""Whether specification, sample, answers, grader and description speak of the same columns, labels and metric."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from openmle_env.graders.metric_columns import class_column
from openmle_env.task_registry.quality.check_tables import _some
from openmle_env.task_registry.quality.checks import bad, check, good, skip
from openmle_env.task_registry.quality.subject import SAMPLE_NAME, TEST, TRAIN

if TYPE_CHECKING:
    from collections.abc import Iterator

    from openmle_env.graders.metrics import Metric as OurMetric
    from openmle_env.task_registry.quality.checks import Found
    from openmle_env.task_registry.quality.subject import Subject

MAX_NAMED_TARGETS = 12
"""Of more target columns a description need not name each."""

MIN_WORD = 4
DESCRIBED = 0.6
"""Share of the words by which a metric is described that have to stand in the description if its name does not."""


@check("columns_agree", group="columns", severity="high", source="processed_csv_evidence", acceptable=False)
def columns_agree(subject: Subject) -> Iterator[Found]:
    """Specification, sample submission, answers and grader have one set of columns.

    Agents that follow the sample are graded against other columns otherwise.
    """
    schema, sample, answers = subject.schema, subject.table(SAMPLE_NAME), subject.answers
    wanted = set(schema.columns)
    if missing := sorted(wanted - set(sample.names)):
        yield bad(f"The sample submission lacks {_some(missing)}, which pack.yaml states.", _columns(sample.names))
    if extra := sorted(set(sample.names) - wanted):
        yield bad(f"The sample submission has {_some(extra)}, which pack.yaml does not state.", _columns(sample.names))
    metric = subject.metric
    graded = {column.name for column in metric.truth_columns(schema)} if metric else wanted - {schema.id.name}
    if missing := sorted((graded | {schema.id.name}) - set(answers.names)):
        yield bad(f"The answers lack {_some(missing)}, which the metric compares.")
    yield good(f"Columns of a submission: {', '.join(schema.columns[:20])}.")


@check("target_in_test", group="columns", severity="high", source="processed_csv_evidence", acceptable=False)
def target_in_test(subject: Subject) -> Iterator[Found]:
    """No target column is in `test.csv`.

    Whoever reads the file has the answers, or something that looks like them.
    """
    if TEST not in subject.public_files:
        yield skip(f"There is no public/{TEST}.")
        return
    test = subject.table(TEST)
    for name in {*(target.name for target in subject.schema.targets), *subject.truth_names} - {subject.id_name}:
        if name in test.names and any(cell.strip() for cell in test.cells[name]):
            yield bad(f"{test.name} has the target column {name!r}. Leave it out.")


@check("target_in_train", group="columns", severity="medium", source="processed_csv_evidence")
def target_in_train(subject: Subject) -> Iterator[Found]:
    """`train.csv` has every column that is predicted, under the same name.

    Agents have to guess what they learn from otherwise.
    """
    metric = subject.metric
    if TRAIN not in subject.public_files:
        yield skip(f"There is no public/{TRAIN}.")
    elif metric is not None and (metric.any_names or not metric.alike):
        yield skip(f"Answers of the metric {metric.name} have another form than predictions.")
    else:
        train = subject.table(TRAIN)
        if missing := sorted(set(subject.truth_names) - set(train.names)):
            yield bad(f"{train.name} lacks {_some(missing)}. Say in the description where they are.", severity="low")


@check("labels_agree", group="columns", severity="high", source="processed_csv_evidence")
def labels_agree(subject: Subject) -> Iterator[Found]:
    """The labels that `pack.yaml` states, those of `train.csv` and those of the answers are one set.

    A class that nobody is told of cannot be predicted.
    """
    stated = _stated_labels(subject)
    if not stated:
        yield skip("No target is a label.")
        return
    train = subject.table(TRAIN) if TRAIN in subject.public_files else None
    if train is not None and (train.problem is not None or not train.rows):
        train = None
    for name, labels in stated.items():
        answers = _labels(subject.answers.cells[name])
        learnt = _labels(train.cells[name]) if train is not None and name in train.names else None
        if unstated := sorted(answers - labels):
            yield bad(f"The answers of {name!r} have {len(unstated):,} labels that are not stated. State all of them.")
        if learnt is None:
            continue
        if unlearnt := answers - learnt:
            yield bad(f"The answers of {name!r} have {len(unlearnt):,} labels that {TRAIN} lacks.", severity="medium")
        if forgotten := sorted(learnt - labels):
            yield bad(f"{TRAIN} has labels of {name!r} that are not stated: {_some(forgotten)}.", severity="medium")
        if unused := sorted(labels - learnt - answers):
            yield bad(f"Labels of {name!r} are stated and occur nowhere: {_some(unused)}.", severity="medium")


@check("description_names", group="columns", severity="medium", source="description.txt")
def description_names(subject: Subject) -> Iterator[Found]:
    """The description names what is predicted, by which metric, and the files.

    An agent that reads it should know what to do.
    """
    text = subject.pack.description
    folded = _fold(text)
    targets = [target.name for target in subject.schema.targets]
    missing = [name for name in targets if name not in text and _fold(name) not in folded]
    if missing and (len(targets) <= MAX_NAMED_TARGETS or len(missing) == len(targets)):
        yield bad(f"The description does not name what is predicted: {_some(missing)}.")
    names = _metric_names(subject.metric)
    if not any(name in folded for name in names) and not _is_described(subject.metric, folded):
        yield bad(f"The description does not name the metric; none of these words is in it: {', '.join(names[:5])}.")
    if "TODO" in text:
        yield bad("The description is unfinished: it says TODO. Agents read it.")
    files = [name for name in (TRAIN, TEST) if name in subject.public_files]
    if unnamed := [name for name in files if name not in text]:
        yield bad(f"The description does not name {_some(unnamed)}.", severity="low")


def _stated_labels(subject: Subject) -> dict[str, set[str]]:
    """The labels of each column of the answers that has some."""
    metric = subject.metric
    truth = class_column(metric) if metric else ""
    if truth and truth in subject.answers.names:
        return {truth: {target.name for target in subject.schema.targets}}
    if metric is not None and metric.truth != "same":
        return {}
    named = {target.name: set(target.labels) for target in subject.schema.targets if target.labels}
    return {name: labels for name, labels in named.items() if name in subject.answers.names}


def _labels(cells: object) -> set[str]:
    return {cell.strip() for cell in cells} - {""}  # type: ignore[attr-defined]  # an array of texts


def _metric_names(metric: OurMetric | None) -> list[str]:
    if metric is None:
        return ["metric", "score", "evaluat"]
    return list(dict.fromkeys(_fold(name) for name in (metric.name, *metric.aliases)))


def _is_described(metric: OurMetric | None, folded: str) -> bool:
    """Whether most of the longer words by which the metric is described stand in a text."""
    if metric is None:
        return False
    words = {word for word in _fold(metric.description).split() if len(word) >= MIN_WORD}
    return sum(1 for word in words if word[:MIN_WORD] in folded) >= max(2, DESCRIBED * len(words))


def _fold(text: str) -> str:
    """Letters and digits of a text, with one blank for all else; accents and case do not count."""
    return re.sub(r"[\W_]+", " ", text.casefold()).strip()


def _columns(names: tuple[str, ...]) -> str:
    return f"its columns: {', '.join(names[:20])}"
