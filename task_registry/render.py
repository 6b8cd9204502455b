"""A task in words: the specification that an agent reads, and the card that a person reads."""

from __future__ import annotations

from typing import TYPE_CHECKING

from openmle_env.types import SUBMISSION_NAME

if TYPE_CHECKING:
    from openmle_env.graders.metrics import Metric
    from openmle_env.task_registry.folder import Pack
    from openmle_env.task_registry.task import Task
    from openmle_env.types import Column, Limits, PublicFile, TaskSpec

MAX_COLUMNS = 40
_KINDS = {
    "integer": "a whole number",
    "number": "a number",
    "probability": "a probability from 0 to 1",
    "text": "text",
}


def render(spec: TaskSpec, reward: str = "") -> str:
    """The whole specification in Markdown, as an agent is given it. The same arguments give the same text.

    Args:
        spec: The specification.
        reward: What is said of the rewards, in sentences; nothing, if empty: a task can be used with several rewards.
    """
    parts = [
        f"# {spec.title}",
        f"Task `{spec.slug}`, version {spec.version}. {spec.modality.capitalize()}, {spec.task_type}.",
        spec.description.strip(),
        "## What you write",
        _program_contract(spec),
        "## Files",
        "\n\n".join(_file(file) for file in spec.files) or "The files in `/data` are listed when the task is prepared.",
        "## Submission",
        _submission(spec),
        "## Score",
        _score(spec, reward),
        "## Budget",
        _budget(spec),
    ]
    return "\n\n".join(parts) + "\n"


def _program_contract(spec: TaskSpec) -> str:
    modules = ", ".join(f"`{name}`" for name in spec.modules)
    return (
        "One Python program. It reads the files in `/data` (read-only), works in `/work` or `/tmp`, and writes "
        f"`/output/{SUBMISSION_NAME}`. The variables `DATA_DIR` and `OUTPUT_DIR` hold these two folders. "
        f"It may import {modules} and the standard library. There is no network.\n\n"
        "Estimate the score yourself, by validation on the training data, and print it as the last line: "
        "`Final Validation Score: <number>`."
    )


def _file(file: PublicFile) -> str:
    facts = [human_size(file.size)]
    if file.rows is not None:
        facts.append(f"{file.rows:,} rows")
    if file.columns:
        facts.append(f"{len(file.columns):,} columns")
    text = f"`/data/{file.name}`: {', '.join(facts)}."
    if len(file.columns) > MAX_COLUMNS:
        text += f" The first columns: {', '.join(file.columns[:MAX_COLUMNS])}."
    return f"{text} It begins:\n\n{_fenced(file.preview)}" if file.preview else text


def _fenced(text: str) -> str:
    # The fence is longer than any in the text, so that data cannot end it.
    fence = "```"
    while fence in text:
        fence += "`"
    return f"{fence}\n{text}\n{fence}"


def _submission(spec: TaskSpec) -> str:
    schema = spec.submission
    rows = next((file.rows for file in spec.files if file.name == "sample_submission.csv"), None)
    count = f"{rows:,} rows" if rows else "one row for each id of the sample submission"
    lines = [
        (
            f"`/output/{SUBMISSION_NAME}`, CSV with a header: {count}, with exactly the ids of "
            "`/data/sample_submission.csv`, in any order. Columns are found by their names."
        ),
        "",
        f"- `{schema.id.name}`: the id, {_kind(schema.id)}{_note(schema.id)}",
    ]
    lines += [f"- `{target.name}`: {_kind(target)}{_note(target)}" for target in schema.targets]
    empty = "other cell" if any(target.blank for target in schema.targets) else "cell"
    lines += ["", f"No {empty} may be empty, NaN or infinite."]
    return "\n".join(lines)


def _kind(column: Column) -> str:
    if column.kind != "label":
        return f"{_KINDS[column.kind]}{', may be empty' if column.blank else ''}"
    shown = ", ".join(f"`{label}`" for label in column.labels[:MAX_COLUMNS])
    more = f" and {len(column.labels) - MAX_COLUMNS} more" if len(column.labels) > MAX_COLUMNS else ""
    return f"one of {shown}{more}"


def _note(column: Column) -> str:
    return f" ({column.description})" if column.description else ""


def _score(spec: TaskSpec, reward: str) -> str:
    from openmle_env.graders.metric_words import settings  # numpy

    metric = "the task's own metric" if spec.metric == "pack" else f"`{spec.metric}`"
    if spec.metric_parameters:
        metric += f" with `{settings(spec.metric_parameters)}`"
    worth = f"{reward} " if reward else ""
    said = f" {spec.metric_description}" if spec.metric_description else ""
    rows = f" Only rows of `{spec.scored_rows}` are scored; all are to be predicted." if spec.scored_rows else ""
    board = " The final score is then placed on the competition's leaderboard." if spec.has_leaderboard else ""
    return (
        f"The metric is {metric}; {_direction(higher=spec.higher_is_better)}.{said}{rows} "
        f"{worth}The hidden answers fall into two fixed parts: what you are told after a program "
        "comes from the validation part; the test part is graded once, for the program selected at the end."
        f"{board}"
    )


def _direction(*, higher: bool) -> str:
    return "higher is better" if higher else "lower is better"


def _budget(spec: TaskSpec) -> str:
    return "\n".join(
        (
            f"- {spec.programs} programs, {human_seconds(spec.seconds)} in all",
            *(f"- {line}" for line in _limits(spec.limits)),
        )
    )


def _limits(limits: Limits) -> tuple[str, ...]:
    return (
        (
            f"each program: {human_seconds(limits.wall_seconds)}, {limits.cpus:g} CPU, {_gpus(int(limits.gpus))}, "
            f"{limits.memory_mb:,} MiB of memory, {limits.processes:,} processes"
        ),
        (
            f"`/work` and `/tmp`: {limits.work_mb:,} MiB each; `/output`: {limits.output_mb:,} MiB; "
            f"one file: {limits.file_mb:,} MiB; the submission: {limits.artifact_mb:,} MiB"
        ),
        f"output: {limits.log_kb:,} KiB of each of stdout and stderr are kept, head and tail",
    )


def card(task: Task | Pack) -> str:
    """What a person wants to know of a task, in Markdown: also licence, source, references with scores, and hashes.

    Nothing is prepared or run.
    """
    from openmle_env.task_registry.folder import Pack  # imports pydantic
    from openmle_env.task_registry.prepare import locate

    pack = task if isinstance(task, Pack) else task.pack
    prepared = locate(pack)
    config = pack.config
    ours = config.metric.ours()
    higher = prepared.manifest.higher_is_better if prepared else config.metric.higher_is_better
    if ours is not None:
        higher = ours.higher_is_better
    direction = "" if higher is None else f"; {_direction(higher=higher)}"
    lines = [
        f"# {config.title or pack.slug}",
        "",
        f"Task `{pack.slug}`, version {pack.version}: {config.modality}, {config.task_type}",
        "",
        pack.description.strip(),
        "",
        "## Facts",
        "",
        f"- Metric: {_metric(ours)}{direction}{f'. {ours.description}' if ours else ''}",
        *([f"- Scored rows: {config.metric.rows}"] if config.metric.rows else []),
        *([_board(config.leaderboard.file)] if config.leaderboard else []),
        f"- Hidden answers: {_split(pack)}",
        f"- Budget: {config.budget.programs} programs, {human_seconds(config.budget.seconds)}",
        *(f"- Limits: {line}" for line in _limits(config.program_limits())[:1]),
        f"- Hardware: {_hardware(pack)}",
        f"- Licence of the data: {config.data.licence}",
        f"- Source: {config.data.source}",
        *([f"- Notes: {config.data.notes}"] if config.data.notes else []),
        f"- Pack: {pack.root}",
        f"- Pack hash: {pack.hash}",
        f"- Prepared: {prepared.public if prepared else f'not yet; run `openmle prepare {pack.address}`'}",
    ]
    if config.references:
        lines += ["", "## Reference scores", "", *_references(pack)]
    if prepared:
        lines += ["", "## Files", "", "| file | size | rows | SHA-256 |", "|---|---:|---:|---|"]
        lines += [
            f"| {file.name} | {human_size(file.size)} | {'' if file.rows is None else file.rows} | {file.sha256} |"
            for file in prepared.manifest.files
        ]
    return "\n".join(lines) + "\n"


def _board(file: str) -> str:
    return f"- Leaderboard: {file}. It places the final score, and makes the rewards medal and rank possible"


def _metric(ours: Metric | None) -> str:
    from openmle_env.graders.metric_words import settings  # numpy

    if ours is None:
        return "its own, utils/metric.py"
    return f"{ours.name} with {settings(ours.given)}" if ours.given else ours.name


def _split(pack: Pack) -> str:
    split = pack.config.split
    if split.method == "hash":
        return (
            f"{split.validation_fraction:.0%} validation, the rest test, by hash of the id (salt {split.salt!r}); "
            "programs see neither"
        )
    if split.method == "column":
        return f"validation and test as column {split.column!r} of the answers says; programs see neither"
    return "not split: the metric does not decompose; programs do not see them"


def _hardware(pack: Pack) -> str:
    gpus = _gpus(int(pack.config.program_limits().gpus))
    note = pack.config.hardware.note
    return f"{gpus}; {note}" if note else gpus


def _gpus(count: int) -> str:
    return f"{count} GPU{'' if count == 1 else 's'}" if count else "no GPU"


def _references(pack: Pack) -> list[str]:
    def shown(score: float | None) -> str:
        return "not measured" if score is None else f"{score:.4f}"

    rows = [
        f"| {reference.title} | {shown(reference.validation_score)} | {shown(reference.test_score)} |"
        for reference in pack.config.references
    ]
    measured = pack.config.measured_in
    note = ["", f"Measured with {measured}."] if measured else []
    return ["| program | validation | test |", "|---|---:|---:|", *rows, *note]


def human_size(size: int) -> str:
    """Bytes for people.

    >>> human_size(900), human_size(60782), human_size(5 << 30)
    ('900 B', '59.4 KiB', '5.0 GiB')
    """
    amount = float(size)
    for unit in ("B", "KiB", "MiB", "GiB"):
        if amount < 1024:
            return f"{amount:.0f} {unit}" if unit == "B" else f"{amount:.1f} {unit}"
        amount /= 1024
    return f"{amount:.1f} TiB"


def human_seconds(seconds: float) -> str:
    """Seconds for people.

    >>> human_seconds(45), human_seconds(1800), human_seconds(5400)
    ('45 seconds', '30 minutes', '1.5 hours')
    """
    for size, unit in ((3600, "hour"), (60, "minute")):
        if seconds >= size:
            return f"{seconds / size:.3g} {unit}{'' if seconds == size else 's'}"
    return f"{seconds:g} second{'' if seconds == 1 else 's'}"
