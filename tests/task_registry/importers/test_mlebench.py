"""MLE-bench's competitions: what is written, what their own scripts make, and both scores side by side."""

from __future__ import annotations

import io
import os
import shutil
import zipfile
from typing import TYPE_CHECKING

import pytest
import yaml

from openmle_env.errors import PackError, UnknownNameError, UsageError
from openmle_env.task_registry.importers import comparing, importing
from openmle_env.task_registry.importers.comparing import compare
from openmle_env.task_registry.importers.drafts import Status
from openmle_env.task_registry.lookup import load_task
from openmle_env.types import Artifact, ArtifactState, Execution, Part, ResultStatus
from tests.task_registry.importers import checkouts
from tests.task_registry.importers.checkouts import BOARD, mlebench

if TYPE_CHECKING:
    from pathlib import Path

SHIP, NOMAD, INSULTS = (
    "spaceship-titanic",
    "nomad2018-predict-transparent-conductors",
    "detecting-insults-in-social-commentary",
)
OWN = "mlebench/competitions"


@pytest.fixture
def raw(tmp_path: Path) -> Path:
    """What Kaggle gives for the three, one of them packed."""
    folder = tmp_path / "raw"
    ship, nomad, insults = (folder / name for name in (f"{SHIP}/raw", f"{NOMAD}/raw", INSULTS))
    for one in (ship, nomad, insults):
        one.mkdir(parents=True)
    table = io.StringIO()
    table.write("PassengerId,Age,Transported\n")
    table.writelines(f"{n:04}_01,{n % 60},{n % 5 < 2}\n" for n in range(90))
    with zipfile.ZipFile(ship / "train.zip", "w") as archive:
        archive.writestr("train.csv", table.getvalue())
    rows = "".join(f"{n},{n % 4},{n % 7 / 10},{n % 9 / 4}\n" for n in range(1, 61))
    (nomad / "train.csv").write_text(f"id,atoms,formation_energy_ev_natom,bandgap_energy_ev\n{rows}")
    (insults / "train.csv").write_text("Insult,Date,Comment\n1,20120618,you\n0,20120619,me\n")
    solved = "".join(f'{n % 2},2012{n:04},"comment {n}",Private\n' for n in range(40))
    (insults / "test_with_solutions.csv").write_text(f"Insult,Date,Comment,Usage\n{solved}")
    return folder


def run(checkout: Path, to: Path, *only: str, **options):
    names = importing.choose("mlebench", checkout, only)
    return {one.name: one for one in importing.run("mlebench", checkout, names, to, **options)}


def test_three_competitions_are_packs_that_can_be_played(tmp_path, raw, box):
    outcomes = run(mlebench(tmp_path / "checkout"), tmp_path / "packs", raw=raw)
    assert {one.status for one in outcomes.values()} == {Status.IMPORTED}
    assert "Git LFS pointer" in outcomes[NOMAD].notes[0]
    assert "one score for all teams" in outcomes[INSULTS].notes[0]

    ship = load_task(tmp_path / "packs" / SHIP, sandbox=box)
    assert ship.pack.config.metric.name == "accuracy"
    assert ship.leaderboard is not None
    assert ship.leaderboard.teams == 20
    assert sorted(path.name for path in ship.answers.parent.iterdir()) == ["manifest.json", "test_answer.csv"]
    assert ship.spec.submission.columns == ("PassengerId", "Transported")

    nomad = load_task(tmp_path / "packs" / NOMAD, sandbox=box)
    assert (nomad.pack.config.metric.name, nomad.leaderboard) == ("rmsle", None)
    insults = load_task(tmp_path / "packs" / INSULTS, sandbox=box)
    assert insults.spec.submission.columns == ("Comment", "Insult")
    for task in (ship, nomad, insults):
        gold = task.grader(box).grade(task._gold(), Part.TEST)
        assert gold.score == task.spec.reward_bounds[1]


def test_the_peers_score_stands_beside_ours(tmp_path, raw, box):
    run(mlebench(tmp_path / "checkout"), tmp_path / "packs", SHIP, NOMAD, raw=raw)
    ship = load_task(tmp_path / "packs" / SHIP, sandbox=box)
    sample = (ship.public / "sample_submission.csv").read_text()
    submission = tmp_path / "submission.csv"
    submission.write_text(sample)
    found = compare(ship, submission, box)
    assert found.ours == pytest.approx(18 / 30)
    assert found.peer == 0.6
    submission.write_text("\n".join(sample.splitlines()[:-1]))
    found = compare(ship, submission, box)
    assert (found.ours, found.peer) == (None, None)
    assert "another number of rows" in found.peer_says
    link = tmp_path / "link.csv"
    link.symlink_to(submission)
    with pytest.raises(PackError, match="cannot be read"):
        compare(ship, link, box)

    nomad = load_task(tmp_path / "packs" / NOMAD, sandbox=box)
    header, *rows = nomad.answers.read_text().splitlines()
    submission.write_text("\n".join([header, *reversed(rows)]))
    found = compare(nomad, submission, box)
    assert found.ours == 0.0  # by ids, every row is right
    assert found.peer is not None
    assert found.peer > 0.1  # by places, few are


@pytest.mark.parametrize(
    ("content", "says"), [(b"NaN", "its score is nan"), (b"{}", "why"), (b"no JSON", "why"), (b"[" * 9999, "why")]
)
def test_no_number_is_no_score_of_the_peer(content, says):
    written = {"score.json": Artifact(name="score.json", state=ArtifactState.OK, content=content)}
    execution = Execution(status=ResultStatus.SUCCESS, stdout="why", artifacts=written)
    assert comparing._score_of(execution)[0] is None
    assert says in comparing._score_of(execution)[1]


def test_with_compat_the_peers_grader_scores(tmp_path, raw, box):
    """Also one that imports nothing of its collection."""
    checkout = mlebench(tmp_path / "checkout")
    grade = checkout / OWN / NOMAD / "grade.py"
    lines = grade.read_text().splitlines()
    grade.write_text("\n".join(line for line in lines if "mlebench" not in line).replace("InvalidSubmission", "Value"))
    run(checkout, tmp_path / "packs", NOMAD, raw=raw, compat=True)
    task = load_task(tmp_path / "packs" / NOMAD, sandbox=box)
    assert (task.pack.config.metric.name, task.spec.higher_is_better) == ("pack", False)
    sample = (task.public / "sample_submission.csv").read_bytes()
    score = task.grader(box).grade(sample, Part.ALL).score
    submission = tmp_path / "submission.csv"
    submission.write_bytes(sample)
    assert score == compare(task, submission, box).peer == round(score, 5)


def test_again_is_quick_and_a_change_is_not_written_over(tmp_path, raw):
    checkout = mlebench(tmp_path / "checkout")
    run(checkout, tmp_path / "packs", SHIP, raw=raw)
    assert run(checkout, tmp_path / "packs", SHIP, raw=raw)[SHIP].status is Status.THERE
    (checkout / OWN / SHIP / "description.md").write_text("other words")
    outcome = run(checkout, tmp_path / "packs", SHIP, raw=raw)[SHIP]
    assert outcome.status is Status.FAILED
    assert "--force" in outcome.reason
    assert run(checkout, tmp_path / "packs", SHIP, raw=raw, force=True)[SHIP].status is Status.IMPORTED
    assert [path.name for path in (tmp_path / "packs").iterdir()] == [SHIP]


def test_hostile_files_are_named_and_none_is_waited_for(tmp_path, raw):
    outside = tmp_path / "secret.py"
    outside.write_text(checkouts.SPACESHIP["prepare.py"])

    def link(path):
        path.unlink()
        path.symlink_to(outside)

    def pipe(path):
        path.unlink()
        os.mkfifo(path)

    nested = "def prepare(raw, public, private):\n    return " + "-" * 50_000 + "1\n"
    attacks = [
        (link, "prepare.py", "symbolic link"),
        (link, "description.md", "symbolic link"),
        (pipe, "config.yaml", "named pipe"),
        (lambda path: path.write_text("[" * 5000), "config.yaml", "no YAML"),
        (lambda path: path.write_text("id: 2001-99-99\n"), "config.yaml", "no YAML"),
        (lambda path: path.write_text("id: " + "9" * 5000), "config.yaml", "no YAML"),
        (lambda path: path.write_text(nested), "prepare.py", "no function prepare"),
        (lambda path: path.write_bytes(b"#" * (5 << 20)), "sizes.py", "larger than 4 MiB"),
    ]
    for number, (attack, file, says) in enumerate(attacks):
        checkout = mlebench(tmp_path / f"checkout{number}")
        attack(checkout / OWN / SHIP / file)
        outcomes = run(checkout, tmp_path / f"packs{number}", SHIP, NOMAD, raw=raw)
        assert says in outcomes[SHIP].reason, file
        assert outcomes[NOMAD].status is Status.IMPORTED
        assert os.listdir(tmp_path / f"packs{number}") == [NOMAD]  # noqa: PTH208  hidden ones, too


def test_what_is_no_pack_of_ours_is_never_removed(tmp_path, raw):
    checkout, to = mlebench(tmp_path / "checkout"), tmp_path / "packs"
    (to / SHIP).mkdir(parents=True)
    (to / SHIP / "thesis.txt").write_text("years")
    assert "no task pack" in run(checkout, to, SHIP, raw=raw, force=True)[SHIP].reason
    assert (to / SHIP / "thesis.txt").read_text() == "years"


def test_raw_files_that_were_put_there_stay(tmp_path, raw):
    checkout, to = mlebench(tmp_path / "checkout"), tmp_path / "packs"
    run(checkout, to, SHIP)
    shutil.copytree(raw / SHIP / "raw", to / SHIP / "raw")
    assert run(checkout, to, SHIP)[SHIP].status is Status.THERE
    (checkout / OWN / SHIP / "description.md").write_text("other words")
    (checkout / OWN / SHIP / "leaderboard.csv").unlink()
    assert run(checkout, to, SHIP)[SHIP].status is Status.FAILED
    assert run(checkout, to, SHIP, force=True)[SHIP].status is Status.IMPORTED
    assert (to / SHIP / "raw/train.zip").read_bytes() == (raw / SHIP / "raw/train.zip").read_bytes()
    assert (to / SHIP / "description.md").read_text() == "other words"
    assert not (to / SHIP / "leaderboard.csv").exists()


def test_a_competition_that_cannot_be_had_with_compat_says_so(tmp_path):
    checkout, name = mlebench(tmp_path / "checkout"), "us-patent-phrase-to-phrase-matching"
    shutil.copytree(checkout / OWN / SHIP, checkout / OWN / name)
    config = checkout / OWN / name / "config.yaml"
    config.write_text(config.read_text().replace(SHIP, name))
    assert "Import it without" in run(checkout, tmp_path / "packs", name, compat=True)[name].reason
    assert run(checkout, tmp_path / "packs", name)[name].status is Status.NEEDS_DATA


def test_without_raw_files_it_says_where_they_go(tmp_path, raw, box):
    outcome = run(mlebench(tmp_path / "checkout"), tmp_path / "packs", SHIP)[SHIP]
    folder = tmp_path / "packs" / SHIP
    assert outcome.status is Status.NEEDS_DATA
    assert f"{folder / 'raw'}" in outcome.reason
    with pytest.raises(PackError, match="no raw/ for it to read"):
        load_task(folder, sandbox=box)
    shutil.copytree(raw / SHIP / "raw", folder / "raw")
    assert load_task(folder, sandbox=box).spec.title == "Spaceship Titanic"


@pytest.mark.parametrize(
    ("file", "change", "says"),
    [
        ("prepare.py", "", "no function prepare"),
        ("prepare.py", "def prepare(raw, public, private):\n    pass\n", "no function prepare"),
        ("prepare.py", "def prepare(:\n", "no function prepare"),
        ("grade.py", "def score(a, b):\n    return 1\n", "no function grade"),
        ("grade.py", None, "there is no"),
        ("description.md", None, "no description"),
        ("config.yaml", "id: other\n", "'id' says otherwise"),
        ("config.yaml", ("prepared/private/test.csv", "prepared/private/../../../x.csv"), "not below"),
        ("config.yaml", ("prepared/private/test.csv", "prepared/public/test.csv"), "not below"),
        ("config.yaml", ("prepared/private/test.csv", "prepared/private/test.jsonl"), "CSV"),
        ("config.yaml", ("grade_fn: mlebench", "grade_fn: os.path"), "no function of its own"),
        ("config.yaml", ("dataset:", "data:"), "lacks dataset.answers"),
    ],
)
def test_what_is_wrong_is_named_and_the_others_go_on(tmp_path, raw, file, change, says):
    checkout = mlebench(tmp_path / "checkout")
    path = checkout / OWN / SHIP / file
    if isinstance(change, tuple):
        text = path.read_text()
        assert change[0] in text
        path.write_text(text.replace(*change))
    elif change is None:
        path.unlink()
    else:
        path.write_text(change)
    outcomes = run(checkout, tmp_path / "packs", raw=raw)
    assert outcomes[SHIP].status is Status.FAILED
    assert says in outcomes[SHIP].reason
    assert outcomes[NOMAD].status is outcomes[INSULTS].status is Status.IMPORTED
    assert not (tmp_path / "packs" / SHIP).exists()


def test_a_sample_beside_the_answers_never_becomes_public(tmp_path, raw, box):
    checkout = mlebench(tmp_path / "checkout")
    own = checkout / OWN / SHIP
    config = own / "config.yaml"
    config.write_text(config.read_text().replace("prepared/public/sample_submission", "prepared/private/secret"))
    prepare = own / "prepare.py"
    prepare.write_text(prepare.read_text().replace('public / "sample_submission.csv"', 'private / "secret.csv"'))
    outcome = run(checkout, tmp_path / "packs", SHIP, raw=raw)[SHIP]
    assert any("below private/" in note for note in outcome.notes)
    with pytest.raises(Exception, match=r"made no public/secret\.csv"):
        load_task(tmp_path / "packs" / SHIP, sandbox=box)


def test_names_are_chosen_and_checked(tmp_path):
    checkout = mlebench(tmp_path / "checkout")
    with pytest.raises(UnknownNameError, match="Did you mean 'spaceship-titanic'"):
        importing.choose("mlebench", checkout, ["spaceship-titanc"])
    with pytest.raises(UsageError, match="no checkout of MLE-bench"):
        importing.choose("mlebench", tmp_path, [])
    shutil.copytree(checkout / OWN / SHIP, checkout / OWN / "Spaceship-Titanic")
    with pytest.raises(PackError, match="would both be called 'spaceship-titanic'"):
        importing.choose("mlebench", checkout, [])


def test_an_unknown_competition_needs_a_direction(tmp_path):
    checkout = mlebench(tmp_path / "checkout")
    own = checkout / OWN
    shutil.copytree(own / SHIP, own / "new-one")
    config = own / "new-one/config.yaml"
    config.write_text(config.read_text().replace(SHIP, "new-one"))
    outcome = run(checkout, tmp_path / "packs", "new-one")["new-one"]
    assert "never guessed from a leaderboard" in outcome.reason


def test_libraries_that_its_scripts_need_are_stated(tmp_path, raw):
    checkout = mlebench(tmp_path / "checkout")
    prepare = checkout / OWN / SHIP / "prepare.py"
    prepare.write_text("import cv2\nimport strange_library\n" + prepare.read_text())
    outcome = run(checkout, tmp_path / "packs", SHIP, raw=raw)[SHIP]
    folder = tmp_path / "packs" / SHIP
    assert (folder / "utils/requirements.txt").read_text() == "opencv-python-headless\n"
    assert yaml.safe_load((folder / "pack.yaml").read_text())["requirements"] == "utils/requirements.txt"
    assert any("strange_library" in note for note in outcome.notes)


def test_every_known_competition_has_a_direction_that_our_metric_shares():
    from openmle_env.graders import metrics
    from openmle_env.task_registry.importers.mlebench import known

    assert len(known()) == 82
    for name, facts in known().items():
        if ours := facts.get("ours"):
            metric = metrics.get(ours["metric"], ours.get("parameters", {}))
            assert metric.higher_is_better is facts["higher_is_better"], name
    assert BOARD.count("\n") == 21
