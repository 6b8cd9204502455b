"""A pack's metric with parameters and scored rows, blank cells, its leaderboard: read, checked, graded, and shown."""

from __future__ import annotations

import json

import pytest

from openmle_env.errors import PackError
from openmle_env.task_registry import spec
from openmle_env.task_registry.folder import open_pack
from openmle_env.task_registry.gold import gold_submission
from openmle_env.task_registry.grading import make_grader
from openmle_env.task_registry.lookup import load_task
from openmle_env.task_registry.pack import PackConfig
from openmle_env.task_registry.pack_yaml import parse
from openmle_env.task_registry.prepare import prepare
from openmle_env.task_registry.render import card, render
from openmle_env.types import Limits, Part, ResultStatus

IDS = range(1, 21)
LISTS = {
    "pack.yaml": """\
slug: baskets
metric:
  name: map_at_k
  parameters: {k: 1, empty: match}
  rows: "kept != no"
  higher_is_better: true
submission:
  id: {name: id, kind: integer}
  targets: [{name: items, kind: text, blank: true}]
leaderboard: {file: board/final.csv, cap: 0.99}
""",
    "board/final.csv": "Team,Score\n" + "".join(f"team {n},{n / 37}\n" for n in range(1, 38)),
    "data/public/description.md": "What is bought next?",
    "data/public/test.csv": "id\n" + "".join(f"{n}\n" for n in IDS),
    "data/public/sample_submission.csv": "id,items\n" + "".join(f"{n},zz\n" for n in IDS),
    "data/private/test_answer.csv": "id,items,kept\n"
    + "".join(f"{n},{'' if n % 5 == 0 else f'a{n} b'},{'no' if n % 4 == 0 else 'yes'}\n" for n in IDS),
}


def fault(text: str, tmp_path) -> str:
    with pytest.raises(PackError) as caught:
        parse(text, tmp_path / "pack.yaml", default_slug="x")
    return str(caught.value)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("metric:\n  name: map_at_k\n  parameters: {k: 0}", ["line 3: metric.parameters", "k=0", "at least 1"]),
        ("metric:\n  name: map_at_k\n  parameters: {kk: 5}", ["line 3: metric.parameters", "Did you mean 'k'"]),
        (
            "metric:\n  name: map_at_k\n  parameters: {k: [1, {a: 2}]}",
            ["line 3: metric.parameters.k [1, {'a': 2}]: should be"],
        ),
        (
            "metric:\n  name: fbeta\n  parameters: {beta: .nan}",
            ["line 3: metric.parameters.beta nan: should be a text, a "],
        ),
        (
            "metric:\n  name: fbeta\n  parameters: {beta: {a: 1}}",
            ["line 3: metric.parameters.beta: should be a text, a "],
        ),
        (
            "metric:\n  name: fbeta\n  parameters: {beta: }",
            ["line 3: metric.parameters.beta empty: should be a text, a "],
        ),
        ("metric:\n  name: map_at_k\n  parameters: 5", ["line 3: metric.parameters is 5", "'key: value'"]),
        ("metric:\n  name: map_at_kk\n  parameters: {k: 5}", ["line 2: metric.name", "Did you mean 'map_at_k'"]),
        ("metric: {parameters: {k: 5}}", ["line 1: metric.parameters", "the pack's own"]),
        ("metric:\n  rows: u_out 0", ["line 2: metric.rows", "COLUMN = VALUE"]),
        ("metric: {name: mae, higher_is_better: true}", ["metric.higher_is_better", "of 'mae' it is false"]),
        ("metric: {name: mae, seconds: 5}", ["metric.seconds", "'mae' of ours"]),
        ("metric: {name: mae, memory_mb: 500}", ["metric.memory_mb", "'mae' of ours"]),
        ("metric: {seconds: 0}", ["metric.seconds is 0", "greater than 0"]),
        ("metric: {memory_mb: 1}", ["metric", "memory_mb=1", "from 32"]),
        ("leaderboard: {}", ["leaderboard.file is missing"]),
        ("leaderboard: {file: ../x.csv}", ["leaderboard.file", "inside the pack"]),
        ("leaderboard: {file: x.csv, cap: .inf}", ["leaderboard.cap", "finite"]),
        (
            "submission:\n  id: {name: i, kind: text}\n  targets: [{name: y, kind: number, blank: true}]",
            ["line 3: submission.targets[0]", "'blank' belongs to columns of kind 'text'"],
        ),
    ],
)
def test_wrong_keys_are_named_with_their_line(tmp_path, text, told):
    assert fault(text, tmp_path).count("\n") == 1  # one fault is one line, whatever types there might have been
    message = fault(text, tmp_path)
    assert str(tmp_path / "pack.yaml") in message
    for part in told:
        assert part in message


def test_the_limits_of_a_packs_own_metric():
    assert PackConfig(slug="x").metric.limits() == Limits()
    told = PackConfig.model_validate({"slug": "x", "metric": {"seconds": 7, "memory_mb": 300}}).metric.limits()
    assert (told.wall_seconds, told.memory_mb) == (7, 300)


def test_another_name_of_a_metric_stands_for_its_parameters():
    metric = PackConfig.model_validate({"slug": "x", "metric": {"name": "qwk"}}).metric.ours()
    assert metric is not None
    assert (metric.name, metric.given) == ("kappa", {"weights": "quadratic"})


@pytest.fixture
def baskets(write_pack):
    return lambda changes=None: write_pack(LISTS, changes, name="baskets")


def test_the_grader_has_parameters_scored_rows_and_a_board(baskets, box):
    task = load_task(baskets(), sandbox=box)
    grader = task.grader(box)
    # b is one of the items wherever there are any, so right in first place (k=1); an empty list is right where the true
    # one is empty (ids 5, 10 and 15; 20 is not scored). 15 of the 20 rows are scored.
    right = "id,items\n" + "".join(f"{n},{'' if n % 5 == 0 else f'b a{n}'}\n" for n in IDS)
    assert grader.grade(right.encode(), Part.ALL).score == 1.0
    wrong = "id,items\n" + "".join(f"{n},{'b' if n % 4 == 0 else ''}\n" for n in IDS)
    assert grader.grade(wrong.encode(), Part.ALL).score == 3 / 15
    assert grader.grade(wrong.encode(), Part.VALIDATION).place is None
    place = grader.grade(right.encode(), Part.TEST).place
    assert place is not None
    # 37 teams, of which the best is beyond the cap.
    assert (place.teams, place.rank, place.human_rank, place.medal) == (36, 1, 1.0, "gold")


def test_the_specification_says_it_all_but_no_score_of_the_board(baskets, box):
    task = load_task(baskets(), sandbox=box)
    assert task.spec.metric_parameters == {"k": 1, "empty": "match"}
    text, shown = render(task.spec), card(task)
    for part in (
        "`map_at_k` with `k=1, empty=match`",
        "higher is better",
        task.spec.metric_description,
        "`kept != no`",
    ):
        assert part in text
    for part in ("map_at_k with k=1, empty=match", "Scored rows: kept != no", "Leaderboard: board/final.csv. It"):
        assert part in shown
    assert "makes the rewards medal and rank possible" in shown
    assert "`items`: text, may be empty" in text
    assert "leaderboard" in text
    for hidden in ("0.99", "0.972", "team 1", "0.027"):
        assert hidden not in text + shown


def test_a_pack_that_is_not_prepared_is_described_from_its_metric(baskets):
    root = baskets({"pack.yaml": LISTS["pack.yaml"] + "rewards: {worst: 0, best: 1}\n"})
    told = spec.build(open_pack(root), None)
    assert (told.metric, told.higher_is_better, told.scored_rows, told.has_leaderboard) == (
        "map_at_k",
        True,
        "kept != no",
        True,
    )


def test_the_hash_covers_every_new_key_and_the_board(baskets):
    hashes = {open_pack(baskets()).hash}
    for changed in (
        {"board/final.csv": LISTS["board/final.csv"] + "late,0.5\n"},
        *({"pack.yaml": LISTS["pack.yaml"].replace(*change)} for change in (("k: 1", "k: 2"), ("0.99", "0.98"))),
        {"pack.yaml": LISTS["pack.yaml"].replace("kept != no", "kept = yes")},
    ):
        hashes.add(open_pack(baskets(changed)).hash)
    assert len(hashes) == 5


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"board/final.csv": None}, "the leaderboard is said to be board/final.csv, and there is no such file"),
        ({"pack.yaml": LISTS["pack.yaml"].replace("board/final.csv", "data/public/test.csv")}, "which agents see"),
    ],
)
def test_a_board_that_is_not_there_or_public(baskets, changes, told):
    with pytest.raises(PackError, match=told):
        open_pack(baskets(changes))


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"board/final.csv": "team,points\na,1\n"}, "no column 'score'"),
        ({"board/final.csv": "team,score\na,nan\n"}, "not a finite number"),
        ({"board/final.csv": "version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 9\n"}, "git lfs pull"),
        ({"data/public/board.csv": LISTS["board/final.csv"]}, "copy of the leaderboard"),
        ({"data/private/gold_submission.csv": "id,items\n" + "".join(f"{n},b\n" for n in IDS[1:])}, "cannot be graded"),
        ({"pack.yaml": LISTS["pack.yaml"].replace("kept != no", "dropped != no")}, r"'dropped'.* is missing"),
        ({"pack.yaml": LISTS["pack.yaml"].replace("kept != no", "kept = maybe")}, "scored"),
    ],
)
def test_what_preparing_refuses(baskets, box, changes, told):
    with pytest.raises(PackError, match=told):
        prepare(open_pack(baskets(changes)), sandbox=box)


def test_a_board_behind_a_link_is_refused(baskets, tmp_path):
    root = baskets()
    (root / "board/final.csv").rename(tmp_path / "elsewhere.csv")
    (root / "board/final.csv").symlink_to(tmp_path / "elsewhere.csv")
    with pytest.raises(PackError, match="symbolic link"):
        open_pack(root)


# --- the submission that is right, where the answers have another form ------------------------------------------------

CLASSES = {
    "pack.yaml": """\
metric:
  name: multiclass_log_loss
  parameters: {truth_column: animal}
submission:
  id: {name: id, kind: integer}
  targets: [{name: cat, kind: probability}, {name: dog, kind: probability}]
""",
    "data/public/description.md": "Cats and dogs.",
    "data/public/sample_submission.csv": "id,cat,dog\n" + "".join(f"{n},0.5,0.5\n" for n in IDS),
    "data/private/test_answer.csv": "animal,id\n" + "".join(f"{'cat' if n % 3 else 'dog'},{n}\n" for n in IDS),
}
VALUES = {
    "pack.yaml": """\
metric: {name: laplace_log_likelihood}
submission:
  id: {name: id, kind: integer}
  targets: [{name: volume, kind: number}, {name: confidence, kind: number}]
""",
    "data/public/description.md": "Volumes.",
    "data/public/sample_submission.csv": "id,volume,confidence\n" + "".join(f"{n},2000,100\n" for n in reversed(IDS)),
    "data/private/test_answer.csv": "id,volume\n" + "".join(f"{n},{1500 + 100 * n}\n" for n in IDS),
}
FLAGS = {
    "pack.yaml": """\
metric: {name: log_loss}
submission:
  id: {name: id, kind: integer}
  targets: [{name: ill, kind: probability}]
""",
    "data/public/description.md": "Who is ill?",
    "data/public/sample_submission.csv": "id,ill\n" + "".join(f"{n},0.5\n" for n in IDS),
    "data/private/test_answer.csv": "id,ill\n" + "".join(f"{n},{'no' if n % 3 else 'yes'}\n" for n in IDS),
}


def gold(task) -> list[str]:
    sample = task.public / "sample_submission.csv"
    return gold_submission(task.pack.config.metric, task.spec.submission, task.answers, sample).decode().splitlines()


@pytest.mark.parametrize(
    ("contents", "first", "bounds"),
    [
        (CLASSES, '"1","1","0"', (0.6931471805599453, 1.0000000000000007e-15)),
        # The confidence is the sample's: -ln(sqrt(2) * 100).
        (VALUES, '"1","1600","100"', (None, -4.951743776268064)),
        (FLAGS, '"1","0"', (0.6931471805599453, 1.0000000000000007e-15)),
    ],
)
def test_answers_in_another_form_still_tell_the_right_submission(write_pack, box, contents, first, bounds):
    task = load_task(write_pack(contents), sandbox=box)
    assert gold(task)[1] == first
    worst, best = task.spec.reward_bounds
    assert best == pytest.approx(bounds[1], rel=1e-6, abs=1e-9)
    assert bounds[0] is None or worst == pytest.approx(bounds[0])


def test_a_pack_may_bring_the_right_submission(write_pack, box):
    own = "id,volume,confidence\n" + "".join(f"{n},{1500 + 100 * n},70\n" for n in IDS)
    task = load_task(write_pack({**VALUES, "data/private/gold_submission.csv": own}), sandbox=box)
    assert gold(task) == own.splitlines()
    assert task.spec.reward_bounds[1] == pytest.approx(-4.595068832329331)  # -ln(sqrt(2) * 70)


def test_rows_that_are_not_scored_are_as_in_the_sample(write_pack, box):
    answers = "id,ill\n" + "".join(f"{n},{'' if n % 4 == 0 else n % 2}\n" for n in IDS)
    changes = {
        "data/private/test_answer.csv": answers,
        "pack.yaml": FLAGS["pack.yaml"].replace("{name: log_loss}", "{name: log_loss, rows: 'ill != '}"),
    }
    task = load_task(write_pack(FLAGS, changes), sandbox=box)
    assert gold(task)[4] == '"4","0.5"'
    assert task.grader(box).grade("\n".join(gold(task)).encode(), Part.ALL).score == pytest.approx(0, abs=1e-9)


def test_a_column_that_the_metric_needs_is_missing(write_pack, box):
    root = write_pack(CLASSES, {"data/private/test_answer.csv": "kind,id\n" + "".join(f"cat,{n}\n" for n in IDS)})
    with pytest.raises(PackError, match=r"test_answer.csv lacks the column 'animal'; it has kind, id"):
        prepare(open_pack(root), sandbox=box)


def test_why_a_metric_is_undefined_is_told_to_whoever_prepares(write_pack, box):
    answers = "id,ill\n" + "".join(f"{n},1\n" for n in IDS)
    changes = {
        "data/private/test_answer.csv": answers,
        "pack.yaml": FLAGS["pack.yaml"].replace("log_loss", "roc_auc"),
    }
    root = write_pack(FLAGS, changes)
    with pytest.raises(PackError, match="roc_auc is undefined") as quiet:
        prepare(open_pack(root), sandbox=box)
    assert "one class only" not in str(quiet.value)
    with pytest.raises(PackError, match="one class only"):
        prepare(open_pack(root), sandbox=box, show_trace=True)


# --- its own metric -------------------------------------------------------------------------------------------------


def test_a_metric_that_takes_too_long_is_the_tasks_fault(make_pack, finished, box):
    slow = finished["utils/metric.py"].replace(
        "        return float", "        import time; time.sleep(60)\n        return float"
    )
    pack = make_pack(finished, {"utils/metric.py": slow, "pack.yaml": "metric: {seconds: 1.5, higher_is_better: true}"})
    with pytest.raises(PackError, match=r"ran longer than its 1\.5 seconds"):
        prepare(pack, sandbox=box)


def test_scored_rows_reach_a_packs_own_metric(make_pack, finished, box):
    counts = finished["utils/metric.py"].replace("        return float((", "        return len(y_true) + float((")
    answers = "id,kind,kept\n" + "".join(f"{n},{'cat' if n % 3 else 'dog'},{n % 2}\n" for n in range(3, 11))
    changes = {"utils/metric.py": counts, "data/private/test_answer.csv": answers}
    pack = make_pack(finished, {**changes, "pack.yaml": "metric: {rows: kept = 1}\nsplit: {method: none}"})
    grader = make_grader(pack, prepare(pack, sandbox=box).manifest.submission, prepare(pack).answers, lambda: box)
    right = "id,kind\n" + "".join(f"{n},{'cat' if n % 3 else 'dog'}\n" for n in range(3, 11))
    assert grader.grade(right.encode(), Part.ALL).score == 5.0  # 4 rows, all of them right


def test_looks_of_a_task_are_written_with_its_name(baskets, box, home):
    task = load_task(baskets(), sandbox=box)
    grader = task.grader(box)
    sample = task.public / "sample_submission.csv"
    assert grader.grade(sample, Part.VALIDATION, program_sha256="ab").status is ResultStatus.SUCCESS
    (line,) = (home / "looks.jsonl").read_text().splitlines()
    look = json.loads(line)
    assert (look["task"], look["part"], look["program_sha256"]) == ("baskets", "validation", "ab")
