"""Modality, task type, compute and sizes of a pack by rules: from its files, its columns and its metric.

What a pack states itself counts; the rules fill what it leaves out, and say where they would have said otherwise.
"""

from __future__ import annotations

import csv
import io
import re
from collections import Counter
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import TYPE_CHECKING

from openmle_env.task_registry import files

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from openmle_env.task_registry.folder import Pack

MODALITIES = ("tabular", "text", "image", "audio", "video", "time series")
TASKS = (
    "classification",
    "regression",
    "forecasting",
    "clustering",
    "segmentation",
    "object detection",
    "survival",
    "generation",
    "ranking",
)
"""The last words of a task's type; more may stand before them, as in ``binary classification``."""

_BY_SUFFIX = {
    **dict.fromkeys(("png", "jpg", "jpeg", "gif", "bmp", "tif", "tiff", "webp", "dcm", "svg"), "image"),
    **dict.fromkeys(("wav", "mp3", "flac", "ogg", "aiff", "m4a", "gsm"), "audio"),
    **dict.fromkeys(("mp4", "avi", "mov", "mkv", "webm"), "video"),
}
_BY_NAME = (
    ("video", re.compile(r"video|frame")),
    ("audio", re.compile(r"audio|sound|speech|wave|spectr|clip")),
    ("image", re.compile(r"image|img|pixel|mask|photo|picture")),
)
"""What arrays are called that hold the data of a modality."""
_ARRAYS = ("npy", "npz", "h5", "hdf5", "parquet")
_TEXT_WORDS = 4.0
"""From so many words in a cell, on average, a column is text."""
_PREVIEW_ROWS = 200
_TIME = re.compile(r"date|time|month|year|day|hour|week|timestamp", re.IGNORECASE)
_METRICS = (
    ("object detection", re.compile(r"^(box_|detection)")),
    ("segmentation", re.compile(r"^(dice|iou|map_iou|instance_map_iou|pixel_)")),
    ("clustering", re.compile(r"^(adjusted_rand|nmi|v_measure|homogeneity|clustering_)")),
    ("survival", re.compile(r"^concordance_index")),
    ("generation", re.compile(r"^(psnr|ssim|bleu|chrf|rouge|wer|cer|levenshtein|normalised_levenshtein|perplexity)")),
    ("ranking", re.compile(r"(ndcg|map_at|mrr|hit_rate|recall_at|precision_at|order_kendall)")),
    ("forecasting", re.compile(r"^(smape|mase|wrmsse|hierarchical_)")),
    (
        "regression",
        re.compile(r"^(rmse|rmsle|mse|mae|mape|wape|median_ae|r2|pinball|explained_variance|pearson|spearman|ccc|"
                   r"angle_|haversine|group_log_mae|laplace_)"),
    ),
    (
        "classification",
        re.compile(r"(accuracy|log_loss|roc_auc|f1|fbeta|mcc|kappa|brier|precision|recall|average_precision|gini|"
                   r"hamming|jaccard_set|lwlrap|exact_match|top_k|ks_statistic|multilabel|calibration)"),
    ),
)  # fmt: skip
"""Families of tasks by the metrics that only they have; the first that fits counts."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Metadata:
    """What a table says of one pack."""

    name: str
    """The task."""
    modality: str
    """Parts joined by ``+``."""
    task_type: str
    """Such as ``binary classification``."""
    compute: str
    """``CPU`` or ``GPU``."""
    raw_bytes: int
    """What the pack carries, and what is fetched for it."""
    final_bytes: int | None
    """Of the prepared data; None where it is not prepared."""
    metric: str
    """Name of the metric; ``pack`` for its own."""
    licence: str
    """Of the data."""
    source: str
    """Where it is from."""
    version: str
    """Of the pack."""
    hash: str
    """Of the pack."""
    notes: tuple[str, ...] = ()
    """Where what is stated is not what the rules or a model say."""


def describe(pack: Pack, public: Path | None, answers: Path | None = None) -> Metadata:
    """The metadata of a pack by the rules.

    Args:
        pack: The pack.
        public: Folder of its prepared public files; None if it is not prepared.
        answers: Folder of its prepared hidden files, for the size.

    Raises:
        PackError: A file cannot be read.
    """
    config = pack.config
    seen = files.tree(public) if public is not None else _carried(pack)
    modality, task_type = guess_modality(seen), guess_task(config.metric.name)
    notes = []
    if config.task_type != "unknown" and task_type and not _agrees(config.task_type, task_type):
        notes.append(
            f"its type is said to be {config.task_type}, and its metric, {config.metric.name}, is of {task_type}"
        )
    carried = sum(path.stat().st_size for name, path in pack.members.items() if name.startswith(("raw/", "data/")))
    prepared = None
    if public is not None:
        folders = [folder for folder in (public, answers) if folder is not None]
        prepared = sum(path.stat().st_size for folder in folders for path in files.tree(folder).values())
    return Metadata(
        name=pack.slug,
        modality=config.modality if config.modality != "unknown" else modality or "unknown",
        task_type=config.task_type if config.task_type != "unknown" else task_type or "unknown",
        compute="GPU" if config.program_limits().gpus else "CPU",
        raw_bytes=carried + sum(download.size for download in config.downloads),
        final_bytes=prepared,
        metric=config.metric.name,
        licence=config.data.licence,
        source=config.data.source,
        version=pack.version,
        hash=pack.hash,
        notes=tuple(notes),
    )


def _agrees(stated: str, found: str) -> bool:
    """Whether a stated type is of the family that the metric belongs to, as far as metrics tell families apart."""
    near = {"regression": {"regression", "forecasting"}, "generation": {"generation", "regression"}}
    return any(family in stated for family in near.get(found, {found}))


def _carried(pack: Pack) -> dict[str, Path]:
    return {name: path for name, path in pack.members.items() if name.startswith(("raw/", "data/public/"))}


def guess_task(metric: str) -> str:
    """The family of tasks that a metric of ours belongs to; empty where it tells nothing.

    >>> guess_task("roc_auc"), guess_task("dice"), guess_task("pack")
    ('classification', 'segmentation', '')
    """
    return next((family for family, pattern in _METRICS if pattern.search(metric)), "")


def guess_modality(found: dict[str, Path]) -> str:
    """The modalities of public files, joined by ``+``; empty where nothing tells."""
    counts: Counter[str] = Counter()
    tables = []
    for name, path in found.items():
        suffix = PurePosixPath(name).suffix.lower().lstrip(".")
        if suffix in _BY_SUFFIX:
            counts[_BY_SUFFIX[suffix]] += 1
        elif suffix in _ARRAYS:
            kind = next((kind for kind, pattern in _BY_NAME if pattern.search(PurePosixPath(name).stem.lower())), "")
            if kind:
                counts[kind] += 1
        elif suffix == "csv":
            tables.append(path)
    kinds = {kind for kind, count in counts.items() if count * 20 >= sum(counts.values())}
    columns = set().union(*(_kinds(path) for path in tables)) if tables else set()
    # Beside images or sounds, a table of ids and labels is no modality of its own.
    kinds |= columns if not kinds else columns & {"text"}
    if "text" in kinds and "tabular" in kinds and len(kinds) == 2:
        return "tabular+text"
    return "+".join(name for name in MODALITIES if name in kinds)


def _kinds(path: Path) -> set[str]:
    """What the columns of a table are."""
    header, rows = _preview(path)
    if not header or "sample_submission" in path.name:
        return set()
    kinds, numbers = set(), 0
    for name, cells in zip(header, zip(*rows, strict=True), strict=False):
        words = [len(cell.split()) for cell in cells if cell]
        if words and sum(words) / len(words) >= _TEXT_WORDS and not _TIME.search(name):
            kinds.add("text")
        else:
            numbers += 1
    if numbers > 3 or not kinds:  # an id, a label and one thing more say nothing beside a text
        kinds.add("tabular")
    return kinds


def _preview(path: Path) -> tuple[list[str], list[list[str]]]:
    with files.opened(path) as file:
        text = file.read(files.CHUNK).decode("utf-8-sig", "replace")
    try:
        reader: Iterator[list[str]] = csv.reader(io.StringIO(text, newline=""))
        header = next(reader, [])
        rows = [row for row, _ in zip(reader, range(_PREVIEW_ROWS), strict=False) if len(row) == len(header)]
    except csv.Error:
        return [], []
    return header, rows
