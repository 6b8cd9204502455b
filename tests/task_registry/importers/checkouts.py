"""Small checkouts in the layouts of other collections, written for the tests: their own code is not ours to carry."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

SHARED = {
    "mlebench/__init__.py": "raise RuntimeError('the collection as a whole is not imported')\n",
    "mlebench/utils.py": """\
import pandas as pd
import py7zr
from tqdm.auto import tqdm
import zipfile

def read_csv(*arguments, **options):
    return pd.read_csv(*arguments, **{"float_precision": "round_trip", **options})

def extract(archive, folder):
    if archive.suffix == ".7z":
        py7zr.SevenZipFile(archive)
    zipfile.ZipFile(archive).extractall(folder)
""",
    "mlebench/grade_helpers.py": "class InvalidSubmissionError(Exception):\n    pass\n",
    "mlebench/competitions/utils.py": """\
from mlebench.grade_helpers import InvalidSubmissionError

def aligned(submission, answers, id_column, target):
    if len(submission) != len(answers):
        raise InvalidSubmissionError("another number of rows")
    submission, answers = submission.sort_values(id_column), answers.sort_values(id_column)
    if (submission[id_column].values != answers[id_column].values).any():
        raise InvalidSubmissionError("other ids")
    return answers[target].to_numpy(), submission[target].to_numpy()
""",
    "LICENSE": "a licence\n",
}
"""What competitions of MLE-bench import, in few words."""

CONFIG = """\
id: {name}
name: {title}
dataset:
  answers: {name}/prepared/private/test.csv
  sample_submission: {name}/prepared/public/{sample}
grader:
  name: anything
  grade_fn: mlebench.competitions.{name}.grade:grade
preparer: mlebench.competitions.{name}.prepare:prepare
"""

SPACESHIP = {
    "prepare.py": """\
from pathlib import Path
from mlebench.utils import extract, read_csv
from tqdm import tqdm
from .sizes import TEST_SHARE

def prepare(raw: Path, public: Path, private: Path):
    extract(raw / "train.zip", raw)
    table = read_csv(raw / "train.csv")
    test = table.iloc[:: TEST_SHARE]
    table.drop(test.index).to_csv(public / "train.csv", index=False)
    test.drop(columns="Transported").to_csv(public / "test.csv", index=False)
    test[["PassengerId", "Transported"]].assign(Transported=False).to_csv(public / "sample_submission.csv", index=False)
    test.to_csv(private / "test.csv", index=False)
    with tqdm(total=2) as bar:
        bar.update(1)
    for _ in tqdm([1], desc="notes"):
        (private / "notes").mkdir()
    (private / "notes" / "more.txt").write_text("not for packs")
""",
    "sizes.py": "TEST_SHARE = 3\n",
    "grade.py": """\
from sklearn.metrics import accuracy_score
from mlebench.competitions.utils import aligned

def grade(submission, answers):
    truth, predicted = aligned(submission, answers, "PassengerId", "Transported")
    return accuracy_score(truth, predicted)
""",
}
NOMAD = {
    "prepare.py": """\
from mlebench.utils import read_csv

def prepare(raw, public, private):
    table = read_csv(raw / "train.csv")
    targets = ["formation_energy_ev_natom", "bandgap_energy_ev"]
    test = table.iloc[1::2]
    table.iloc[::2].to_csv(public / "train.csv", index=False)
    test.drop(columns=targets).to_csv(public / "test.csv", index=False)
    test[["id", *targets]].assign(**{name: 0.1 for name in targets}).to_csv(public / "sample.csv", index=False)
    test[["id", *targets]].to_csv(private / "test.csv", index=False)
""",
    "grade.py": """\
import numpy as np
from mlebench.grade_helpers import InvalidSubmissionError

def grade(submission, answers):
    if len(submission) != len(answers):
        raise InvalidSubmissionError("another number of rows")
    names = ["formation_energy_ev_natom", "bandgap_energy_ev"]
    errors = [np.log1p(answers[name].values) - np.log1p(submission[name].values) for name in names]
    return float(np.mean([np.sqrt(np.mean(error**2)) for error in errors]))
""",
}
INSULTS = {
    "prepare.py": """\
import shutil
import pandas as pd

def prepare(raw, public, private):
    shutil.copy(raw / "train.csv", public / "train.csv")
    table = pd.read_csv(raw / "test_with_solutions.csv")
    table.to_csv(private / "test.csv", index=False)
    gold = table[["Insult", "Date", "Comment"]]
    gold.to_csv(private / "gold_submission.csv", index=False)
    gold.drop(columns="Insult").to_csv(public / "test.csv", index=False)
    gold.assign(Insult=0).to_csv(public / "sample_submission_null.csv", index=False)
""",
    "grade.py": """\
from sklearn.metrics import roc_auc_score
from mlebench.competitions.utils import aligned

def grade(submission, answers):
    return roc_auc_score(*aligned(submission, answers, "Comment", "Insult"))
""",
}
BOARD = "rank,score\n" + "".join(f"{place},{0.9 - place / 100:.2f}\n" for place in range(1, 21))
POINTER = "version https://git-lfs.github.com/spec/v1\noid sha256:" + "0" * 64 + "\nsize 5\n"


def mlebench(root: Path, changes: dict[str, str | None] | None = None) -> Path:
    """A checkout with three competitions; ``changes`` are files that are other, or gone (None)."""
    folder = "mlebench/competitions"
    contents = dict(SHARED)
    for name, title, scripts, sample, board in (
        ("spaceship-titanic", "Spaceship Titanic", SPACESHIP, "sample_submission.csv", BOARD),
        ("nomad2018-predict-transparent-conductors", "Nomad", NOMAD, "sample.csv", POINTER),
        (
            "detecting-insults-in-social-commentary",
            "Insults",
            INSULTS,
            "sample_submission_null.csv",
            "rank,score\n1,0\n2,0\n",
        ),
    ):
        own = f"{folder}/{name}"
        contents |= {f"{own}/{script}": text for script, text in scripts.items()}
        contents[f"{own}/config.yaml"] = CONFIG.format(name=name, title=title, sample=sample)
        contents[f"{own}/description.md"] = f"# {title}\n"
        contents[f"{own}/leaderboard.csv"] = board
    return write(root, {**contents, **(changes or {})})


def write(root: Path, contents: dict[str, str | None]) -> Path:
    """Write texts below a folder."""
    for name, text in contents.items():
        if text is not None:
            (root / name).parent.mkdir(parents=True, exist_ok=True)
            (root / name).write_text(text, encoding="utf-8")
    return root


DOJO_METRIC = """\
from typing import Any
import pandas as pd
from mledojo.metrics.base import CompetitionMetrics, InvalidSubmissionError

class PetsMetrics(CompetitionMetrics):
    def __init__(self, value: str = "kind", higher_is_better: bool = True):
        super().__init__(higher_is_better)
        self.value = value

    def evaluate(self, y_true, y_pred):
        return float((y_true[self.value].values == y_pred[self.value].values).mean())

    def validate_submission(self, submission: Any, ground_truth: Any) -> str:
        if len(submission) != len(ground_truth):
            raise InvalidSubmissionError("another number of rows")
        return "valid"
"""
DOJO_PREPARE = """\
import shutil
import pandas as pd

def prepare(raw, public, private):
    table = pd.read_csv(raw / "train.csv")
    test = table.iloc[::2]
    table.iloc[1::2].to_csv(public / "train.csv", index=False)
    test.drop(columns="kind").to_csv(public / "test.csv", index=False)
    test[["id", "kind"]].assign(kind="cat").to_csv(public / "sample_submission.csv", index=False)
    test[["id", "kind"]].to_csv(private / "test_answer.csv", index=False)
    shutil.move(raw / "notes.txt", public / "notes.txt")
    shutil.rmtree(raw)
"""
PETS = "id,weight,kind\n" + "".join(f"{n},{n % 7},{'dog' if n % 3 else 'cat'}\n" for n in range(1, 41))


def mledojo(root: Path, changes: dict[str, str | None] | None = None) -> Path:
    """A checkout with one competition."""
    own = "mledojo/competitions/Pets-Playground"
    contents: dict[str, str | None] = {
        f"{own}/info/description.txt": "Tell cats from dogs.",
        f"{own}/info/private_leaderboard.csv": BOARD,
        f"{own}/utils/prepare.py": DOJO_PREPARE,
        f"{own}/utils/metric.py": DOJO_METRIC,
    }
    return write(root, {**contents, **(changes or {})})
