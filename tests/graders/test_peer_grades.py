"""What MLE-bench gives for small tables, beside ours: each agrees, or is listed with the right value and why."""

from __future__ import annotations

import csv
import io
import json
import math
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from openmle_env.graders import metrics
from openmle_env.graders.grader import Grader
from openmle_env.graders.metrics.run_length import RunLengthError, decode, encode
from openmle_env.types import Column, ColumnKind, Part, ResultStatus, SubmissionSchema

CASES = json.loads((Path(__file__).parent / "peer_cases" / "mlebench_grades.json").read_text(encoding="utf-8"))
GRADES = {case["id"]: case for case in CASES["grades"]}
FUNCTIONS = {case["id"]: case for case in CASES["functions"]}


@dataclass(frozen=True)
class Setup:
    """How a competition is set up here."""

    metric: str
    id: str
    targets: tuple[str, ...]
    """Names in the submission; empty: all columns of the answers but the id."""
    kind: ColumnKind
    parameters: dict[str, Any] = field(default_factory=dict)
    labels: tuple[str, ...] = ()
    scored_rows: str = ""
    renamed: dict[str, str] = field(default_factory=dict)
    """Columns of the answers that have another name in the submission."""
    joined: tuple[str, ...] = ()
    """Columns that make the id together; here they become one."""


SETUPS = {
    "tabular-playground-series-may-2022": Setup("roc_auc", "id", ("target",), "probability"),
    "spaceship-titanic": Setup("accuracy", "PassengerId", ("Transported",), "label", labels=("False", "True")),
    "text-normalization-challenge-english-language": Setup("accuracy", "id", ("after",), "text"),
    "statoil-iceberg-classifier-challenge": Setup("log_loss", "id", ("is_iceberg",), "probability"),
    "spooky-author-identification": Setup("multiclass_log_loss", "id", ("EAP", "HPL", "MWS"), "probability"),
    "nomad2018-predict-transparent-conductors": Setup(
        "rmsle", "id", ("formation_energy_ev_natom", "bandgap_energy_ev"), "number"
    ),
    "new-york-city-taxi-fare-prediction": Setup("rmse", "key", ("fare_amount",), "number"),
    "predict-volcanic-eruptions-ingv-oe": Setup("mae", "segment_id", ("time_to_eruption",), "number"),
    "ventilator-pressure-prediction": Setup("mae", "id", ("pressure",), "number", scored_rows="u_out = 0"),
    "champs-scalar-coupling": Setup(
        "group_log_mae", "id", ("scalar_coupling_constant",), "number", parameters={"group": "type"}
    ),
    "aptos2019-blindness-detection": Setup("qwk", "id_code", ("diagnosis",), "integer"),
    "whale-categorization-playground": Setup("map_at_k", "Image", ("Id",), "text", parameters={"k": 5}),
    "h-and-m-personalized-fashion-recommendations": Setup(
        "map_at_k", "customer_id", ("prediction",), "text", parameters={"k": 12}
    ),
    "plant-pathology-2020-fgvc7": Setup("roc_auc", "image_id", (), "probability"),
    "jigsaw-toxic-comment-classification-challenge": Setup(
        "roc_auc", "id", (), "probability", scored_rows="toxic != -1"
    ),
    "tgs-salt-identification-challenge": Setup("map_iou", "id", ("rle_mask",), "text", parameters={"shape": "101x101"}),
    "hubmap-kidney-segmentation": Setup(
        "dice",
        "id",
        ("predicted",),
        "text",
        parameters={"height": "height_pixels", "width": "width_pixels"},
        renamed={"encoding": "predicted"},
    ),
    "vesuvius-challenge-ink-detection": Setup(
        "pixel_fbeta",
        "Id",
        ("Predicted",),
        "text",
        parameters={"beta": 0.5, "order": "row", "height": "height", "width": "width"},
    ),
    "billion-word-imputation": Setup("levenshtein", "id", ("sentence",), "text"),
    "multi-modal-gesture-recognition": Setup("per", "Id", ("Sequence",), "text"),
    "tweet-sentiment-extraction": Setup("jaccard_words", "textID", ("selected_text",), "text"),
    "AI4Code": Setup("order_kendall_tau", "id", ("cell_order",), "text"),
    "chaii-hindi-and-tamil-question-answering": Setup("jaccard_words", "id", ("PredictionString",), "text"),
    "us-patent-phrase-to-phrase-matching": Setup("pearson", "id", ("score",), "number"),
    "google-quest-challenge": Setup("spearman", "qa_id", (), "number"),
    "nfl-player-contact-detection": Setup("mcc", "contact_id", ("contact",), "label", labels=("0", "1")),
    "plant-seedlings-classification": Setup(
        "fbeta",
        "file",
        ("species",),
        "label",
        labels=("Charlock", "Maize"),
        parameters={"average": "micro"},
    ),
    "imet-2020-fgvc7": Setup("multilabel_fbeta", "id", ("attribute_ids",), "text", parameters={"average": "micro"}),
    "rsna-breast-cancer-detection": Setup("probabilistic_f1", "prediction_id", ("cancer",), "number"),
    "osic-pulmonary-fibrosis-progression": Setup(
        "laplace_log_likelihood", "Patient_Week", ("FVC", "Confidence"), "number"
    ),
    "smartphone-decimeter-2022": Setup(
        "haversine",
        "key",
        ("LatitudeDegrees", "LongitudeDegrees"),
        "number",
        parameters={"group": "tripId", "statistic": "p50_p95"},
        joined=("tripId", "UnixTimeMillis"),
    ),
    "inaturalist-2019-fgvc6": Setup("top_k_error", "id", ("predicted",), "text", parameters={"k": 1}),
}


@dataclass(frozen=True)
class Fault:
    """Where the peer is wrong, or follows another rule."""

    right: float | None
    """Our value; None where the submission is invalid."""
    why: str
    compat: dict[str, Any] | None = None
    """Parameters that reproduce the peer's value."""


FAULTS: dict[str, Fault] = {
    "p066": Fault(1.0, "yes and no are spellings of the task's True and False"),
    "p075": Fault(-math.log(1e-15) / 3, "the peer clips at the spacing of doubles, not at 1e-15", {"clip": 2.0**-52}),
    "p076": Fault(
        -(math.log(0.7 / 1.1) + math.log(0.8) + math.log(0.4)) / 3, "rows are rescaled, where the peer refuses them"
    ),
    "p081": Fault(0.0, "the peer never aligns ids: a perfect file in another order is not perfect there"),
    "p084": Fault(None, "the peer sorts and never compares the keys"),
    "p088": Fault(None, "the peer merges repeated ids, so that an easy row dilutes the others"),
    "p104": Fault(1.0, "a perfect constant is perfect; NaN is no score"),
    "p119": Fault(0.875, "the peer matches columns by position"),
    "p155": Fault(4 / 5, "the peer takes numbers only; a token that is none is wrong, as any other"),
    "p157": Fault(2 / 3, "two empty texts are equal; the peer divides by zero"),
    "p159": Fault(-1.0, "an order that lacks an item counts as reversed, as the other row is; the peer refuses it"),
    "p160": Fault(-1.0, "an order with a strange item counts as reversed; the peer fails"),
    "p165": Fault(0.8166666666666667, "a constant column of predictions has correlation 0; NaN is no score"),
    "p171": Fault(2 / 3, "an unknown label is a false positive; the peer drops it", {"compat": "mlebench"}),
    "p178": Fault(None, "the peer grades a partial file on its own rows"),
    # Functions
    "p132": Fault(0.0, "an empty prediction of a mask is worth nothing", {"compat": "mlebench"}),
    "p137": Fault(1.0, "NaN is no score"),
}


def graded(case: dict[str, Any], setup: Setup, folder: Path, **extra: Any) -> float | None:
    submission, answers = case["submission"], case["answers"]
    if setup.joined:
        submission, answers = (_joined(text, setup.joined) for text in (submission, answers))
    for old, new in setup.renamed.items():
        answers = answers.replace(old, new, 1)
    path = folder / "answers.csv"
    path.write_text(answers, encoding="utf-8")
    names = setup.targets or tuple(name for name in answers.partition("\n")[0].split(",") if name != setup.id)
    targets = [Column(name=name, kind=setup.kind, labels=setup.labels, blank=setup.kind == "text") for name in names]
    grader = Grader(
        schema=SubmissionSchema(id=Column(name=setup.id, kind="text"), targets=tuple(targets)),
        metric=metrics.get(setup.metric, {**setup.parameters, **extra}),
        answers=path,
        split="none",
        scored_rows=setup.scored_rows,
    )
    grade = grader.grade(submission.encode(), Part.ALL)
    assert grade.status in {ResultStatus.SUCCESS, ResultStatus.SUBMISSION_INVALID}
    return grade.score


def _joined(text: str, names: tuple[str, ...]) -> str:
    rows = list(csv.DictReader(io.StringIO(text)))
    out = io.StringIO()
    writer = csv.DictWriter(out, ["key", *rows[0]])
    writer.writeheader()
    writer.writerows({"key": "_".join(row[name] for name in names), **row} for row in rows)
    return out.getvalue()


@pytest.mark.parametrize("key", GRADES)
def test_grades(key: str, tmp_path: Path) -> None:
    case, fault = GRADES[key], FAULTS.get(key)
    setup = SETUPS[case["competition"]]
    score = graded(case, setup, tmp_path)
    expected = case["peer"] if fault is None else fault.right
    assert score == (expected if expected is None else pytest.approx(expected, rel=1e-9, abs=1e-12))
    if fault is not None:
        assert fault.why
        assert expected != case["peer"]
        if fault.compat:
            assert graded(case, setup, tmp_path, **fault.compat) == pytest.approx(case["peer"], rel=1e-9)


def value(metric: str, truth: Any, predicted: Any, **parameters: Any) -> float:
    """The value of a metric of texts or numbers on rows that are given as they stand in a file."""
    return metrics.get(metric, parameters).value(truth, predicted)


def runs(mask: list[int]) -> str:
    """The run lengths of a mask of one column."""
    return encode(np.array(mask, dtype=bool).reshape(-1, 1))


def computed(case: dict[str, Any], **extra: Any) -> Any:
    """What ours gives for a call of a function of the peer."""
    given = case["input"]
    match case["function"]:
        case "average_precision_at_k":
            truth, predicted = " ".join(given["actual"]), " ".join(given["predicted"])
            # Beside a second row that scores 1, since a mean over empty true lists alone is undefined.
            return 2 * value("map_at_k", (truth, "x"), (predicted, "x"), k=given["k"]) - 1
        case "iou_metric":
            truth, predicted = runs(given["y_true_in"]), runs(given["y_pred_in"])
            return value("map_iou", (truth,), (predicted,), shape=f"{len(given['y_true_in'])}x1", **extra)
        case "dice_coefficient":
            truth, predicted = runs(given["true_mask"]), runs(given["predicted_mask"])
            return value("dice", (truth,), (predicted,), shape=f"{len(given['true_mask'])}x1", **extra)
        case "pfbeta":
            truth, predicted = tuple(given["labels"]), tuple(given["predictions"])
            return value("probabilistic_fbeta", truth, predicted, beta=given["beta"])
        case name:
            raise NotImplementedError(name)


@pytest.mark.parametrize("key", [key for key, case in FUNCTIONS.items() if case["function"] != "rle_decode"])
def test_functions(key: str) -> None:
    case, fault = FUNCTIONS[key], FAULTS.get(key)
    expected = case["peer"] if fault is None else fault.right
    assert computed(case) == pytest.approx(expected, rel=1e-9, abs=1e-12)
    if fault is not None and fault.compat:
        assert computed(case, **fault.compat) == pytest.approx(case["peer"], rel=1e-9)


@pytest.mark.parametrize("key", [key for key, case in FUNCTIONS.items() if case["function"] == "rle_decode"])
def test_decoding(key: str) -> None:
    case = FUNCTIONS[key]
    text, height, width = case["input"]["rle_string"], case["input"]["height"], case["input"]["width"]
    if case["peer"] is None:
        with pytest.raises(RunLengthError, match="share"):
            decode(text, height, width)
    else:
        assert decode(text, height, width).tolist() == case["peer"]


def test_every_fault_is_of_a_case() -> None:
    assert set(FAULTS) <= {*GRADES, *FUNCTIONS}
