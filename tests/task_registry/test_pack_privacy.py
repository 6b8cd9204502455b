"""What agents read never comes from where the answers, the scripts or other people's files are."""

from __future__ import annotations

import csv
import io

import pytest

from openmle_env.errors import PackError
from openmle_env.graders.grader import Grader
from openmle_env.task_registry.folder import open_pack
from openmle_env.task_registry.gold import gold_submission
from openmle_env.task_registry.pack import Metric
from openmle_env.types import Column, Part, SubmissionSchema

ANSWERS = "data/private/test_answer.csv"


@pytest.mark.parametrize(
    "said",
    [
        f"description: {ANSWERS}",
        f"description: ./data//private/./{ANSWERS.rpartition('/')[2]}",
        "description: utils/metric.py",
        "description: raw/notes.md",
        "description: references/best.py",
        "description: pack.yaml",
        f"references: [{{name: a, title: b, program: {ANSWERS}}}]",
        f"broken: {{program: {ANSWERS}, status: timeout}}",
    ],
)
def test_private_places_are_refused(write_pack, finished, said):
    root = write_pack(finished, {"pack.yaml": said, "raw/notes.md": "x", "references/best.py": "x"})
    with pytest.raises(PackError, match="for agents to see"):
        open_pack(root)


def test_a_description_beside_the_data_is_fine(make_pack, finished):
    pack = make_pack(
        finished,
        {"pack.yaml": "description: texts/data/private/about.md"}
        | {"texts/data/private/about.md": "Tell cats from dogs."},
    )
    assert pack.description == "Tell cats from dogs."


@pytest.mark.parametrize("linked", ["texts", "texts/deep", "texts/deep/about.md"])
def test_a_description_behind_a_link_is_refused(write_pack, finished, tmp_path, linked):
    name = "texts/deep/about.md"
    root = write_pack(finished, {"pack.yaml": f"description: {name}", name: "secret"})
    (root / linked).rename(tmp_path / "elsewhere")
    (root / linked).symlink_to(tmp_path / "elsewhere")
    with pytest.raises(PackError, match=f"{linked} is a symbolic link"):
        open_pack(root)


def test_the_right_submission_keeps_every_line_break(tmp_path):
    answers = tmp_path / "answers.csv"
    texts = ["a\rb", "c\r\nd", "e\nf", 'g"h', "i"]
    with answers.open("w", newline="") as file:
        csv.writer(file, quoting=csv.QUOTE_ALL).writerows([("id", "y"), *enumerate(texts)])
    schema = SubmissionSchema(id=Column(name="id", kind="integer"), targets=(Column(name="y", kind="text"),))
    gold = gold_submission(Metric(name="accuracy"), schema, answers, answers)
    assert [row[1] for row in csv.reader(io.StringIO(gold.decode(), newline=""))] == ["y", *texts]
    assert Grader(schema=schema, metric="accuracy", answers=answers, split="none").grade(gold, Part.ALL).score == 1.0
