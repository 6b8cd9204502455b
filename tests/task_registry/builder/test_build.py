"""A folder becomes a pack by a scripted model: every stage, its retries, what is skipped, and what refusals leave."""

from __future__ import annotations

import csv
import errno
import io
import json
from typing import TYPE_CHECKING, Any

import pytest

from openmle_env.policies.failures import AccessError
from openmle_env.policies.protocol import Reply, ToolCall
from openmle_env.policies.scripted import ScriptedPolicy
from openmle_env.task_registry.builder import finishing, funnel, pipeline, sources, state, workspace
from openmle_env.task_registry.builder.pipeline import Options
from openmle_env.task_registry.folder import open_pack

if TYPE_CHECKING:
    from pathlib import Path

    from openmle_env.policies.protocol import Request

ROWS = [f"{n},{(n * 37) % 101},{n * 7919 % 13},{'tall' if (n * 37) % 101 > 50 else 'short'}" for n in range(150)]
PLAN = {
    "title": "Tall or short",
    "modality": "tabular",
    "task_type": "binary classification",
    "sources": ["trees.csv"],
    "id": "row_id",
    "targets": ["size"],
}
PROBLEM = "Tell tall trees from short ones, by `row_id`; predict `size`, by what was measured. " + "More words. " * 20
SCRIPT = """\
import csv
import hashlib


def prepare(raw, public, private):
    with (raw / "trees.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    keys = [hashlib.sha256(row["number"].encode()).hexdigest() for row in rows]
    for key, row in zip(keys, rows):
        row["row_id"] = key[:12]
        row["bend"] = str(int(row["girth"]) * 3 + int(key[:2], 16) % 90)
    rows.sort(key=lambda row: row["row_id"])
    test = [row for row in rows if int(row["row_id"], 16) % 5 == 0]
    train = [row for row in rows if int(row["row_id"], 16) % 5]
    write(public / "train.csv", ["row_id", "bend", "leaf", "size"], train)
    write(public / "test.csv", ["row_id", "bend", "leaf"], test)
    write(public / "sample_submission.csv", ["row_id", "size"], [{**row, "size": "tall"} for row in test])
    write(private / "test_answer.csv", ["row_id", "size"], test)


def write(path, columns, rows):
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, columns, extrasaction="ignore", lineterminator="\\n")
        writer.writeheader()
        writer.writerows(rows)
"""
LEAKING = SCRIPT.replace('["row_id", "bend", "leaf"], test', '["row_id", "bend", "leaf", "size"], test')


def call(name: str, **arguments: object) -> Reply:
    return Reply(text="", tool_calls=(ToolCall(id=name, name=name, arguments=json.dumps(arguments)),))


def replies(**changes: Any) -> list[Reply | str]:
    """What a model says that gets everything right; ``changes`` put other replies in the place of a step's."""
    steps: dict[str, list[Reply | str]] = {
        "perceive": [call("save", text="trees.csv: number, girth, leaf, size (tall or short), 150 rows.")],
        "plan": [json.dumps(PLAN)],
        "describe": [PROBLEM],
        "prepare": [f"```python\n{SCRIPT}```"],
        "metric": ['{"metric": "accuracy"}'],
    }
    return [reply for step in {**steps, **changes}.values() for reply in step]


@pytest.fixture
def trees(tmp_path: Path) -> sources.Source:
    folder = tmp_path / "trees"
    folder.mkdir()
    (folder / "trees.csv").write_text("number,girth,leaf,size\n" + "\n".join(ROWS) + "\n")
    return sources.parse(str(folder))


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """The gate and the measuring of programs have tests of their own, and take their time."""
    monkeypatch.setattr(pipeline, "check", lambda work, _sandbox: work.publish())
    monkeypatch.setattr(finishing, "measured", lambda work, _sandbox, **_: (finishing.programs(work), ""))


def build(source: sources.Source, to: Path, box: Any, script: list[Reply | str], **options: Any) -> tuple[Any, Any]:
    policy = ScriptedPolicy(script)
    [made] = pipeline.build([source], Options(to=to, policy=policy, **options), sandbox=box)
    return made, policy


def test_a_folder_becomes_a_pack_that_the_gate_takes(trees: sources.Source, tmp_path: Path, box: Any) -> None:
    made, policy = build(trees, tmp_path / "out", box, replies(), licence="CC0-1.0")
    assert (made.status, made.reason) == ("passed", "")
    assert len(policy.requests) == 5
    pack = open_pack(tmp_path / "out" / "trees")
    assert pack.config.submission is not None
    assert pack.config.submission.targets[0].labels == ("short", "tall")
    sample, simple = pack.config.references
    assert sample.validation_score is not None
    assert simple.validation_score is not None
    assert simple.validation_score > sample.validation_score
    assert set(pack.config.contents) == {
        "public/train.csv", "public/test.csv", "public/sample_submission.csv", "private/test_answer.csv"
    }  # fmt: skip
    assert "`accuracy`" in pack.description
    counts = funnel.Funnel.model_validate_json((tmp_path / "out" / ".build" / "funnel.json").read_bytes())
    assert (counts.candidates, counts.eligible, counts.executable, counts.passed) == (1, 1, 1, 1)


def test_faults_are_told_and_bounded(trees: sources.Source, tmp_path: Path, box: Any, quick: None) -> None:
    script = replies(
        plan=['{"title": "x"}', json.dumps(PLAN)],
        prepare=["no code", "```python\n1/0\n```", f"```python\n{LEAKING}```", f"```python\n{SCRIPT}```"],
        metric=['{"metric": "acuracy"}', '{"metric": "rmse"}', '{"metric": "accuracy"}'],
    )
    made, policy = build(trees, tmp_path / "out", box, script)
    assert made.status == "passed"
    assert made.stages["prepare"].tries == 4
    told = [request.messages[-1].content for request in policy.requests]
    for fault in ("targets: Field required", "no function `prepare", "'size', which is to be predicted", "'accuracy'"):
        assert any(fault in text for text in told), fault

    other = tmp_path / "other"
    made, policy = build(trees, other, box, replies(prepare=["no code"] * 9), tries=2)
    assert (made.status, made.stages["prepare"].tries) == ("failed", 2)
    assert "did not get it right in 2 tries" in made.reason
    assert not (other / "trees").exists()


def test_a_stage_is_skipped_only_while_its_inputs_are_the_same(
    trees: sources.Source, tmp_path: Path, box: Any, quick: None
) -> None:
    to = tmp_path / "out"
    made, _ = build(trees, to, box, replies()[:3])  # the script ends before 'prepare': the model fails
    assert (made.status, made.done("describe"), made.done("prepare")) == ("failed", True, False)
    made, policy = build(trees, to, box, replies()[3:])
    assert (made.status, len(policy.requests)) == ("passed", 2)
    made, policy = build(trees, to, box, [])
    assert (made.status, policy.requests) == ("passed", [])

    made, policy = build(trees, to, box, ['{"metric": "balanced_accuracy"}'], since="metric")
    assert (made.status, len(policy.requests)) == ("passed", 1)
    assert open_pack(to / "trees").version == "1.1.0"  # old scores are of another metric
    made, policy = build(trees, to, box, ['{"metric": "balanced_accuracy"}'], only="metric")
    assert (made.status, len(policy.requests)) == ("passed", 1)

    with (tmp_path / "trees" / "trees.csv").open("a") as file:
        file.write("150,7,1,short\n")
    made, policy = build(trees, to, box, replies())
    assert (made.status, len(policy.requests)) == ("passed", 5)
    assert any(note.startswith("trees.csv changed: its SHA-256 was ") for note in made.notes)
    assert open_pack(to / "trees").version == "1.2.0"


def test_a_killed_run_leaves_stages_whole(trees: sources.Source, tmp_path: Path, box: Any, quick: None) -> None:
    class Killed(BaseException):
        """What nothing catches."""

    def dies(request: Request) -> str:
        raise Killed

    to = tmp_path / "out"
    work = workspace.Workspace(to.resolve(), "trees")
    with pytest.raises(Killed):
        pipeline.build([trees], Options(to=to, policy=ScriptedPolicy(dies)), sandbox=box)
    known = state.read(work.folder)
    assert known is not None
    assert (list(known.stages), known.status) == (["download", "extract"], "unfinished")
    (work.folder / "raw.new").mkdir()  # and one that was killed while it copied
    (work.folder / "state.json").write_text("{")  # somebody's editor
    made, _ = build(trees, to, box, replies())
    assert "is no state of a build" in made.reason
    (work.folder / "state.json").unlink()
    made, _ = build(trees, to, box, replies())
    assert made.status == "passed"
    assert not (work.folder / "raw.new").exists()


def test_a_pack_that_the_gate_refuses_is_not_published(
    trees: sources.Source, tmp_path: Path, box: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    from openmle_env.task_registry.quality import checks

    monkeypatch.setattr(finishing, "measured", lambda work, _sandbox, **_: (finishing.programs(work), ""))
    chosen = {name: one for name, one in checks.registered().items() if name == "one_feature"}
    monkeypatch.setattr("openmle_env.task_registry.quality.gate.registered", lambda: chosen)
    script = SCRIPT.replace('int(row["girth"]) * 3 + int(key[:2], 16) % 90', 'int(row["girth"])')
    made, _ = build(trees, tmp_path / "out", box, replies(prepare=[f"```python\n{script}```"]))
    assert made.status == "failed"
    assert "one_feature" in made.reason
    assert not (tmp_path / "out" / "trees").exists()
    assert funnel.count([made]).executable == 1


def test_one_of_our_metrics_comes_before_a_written_one(
    trees: sources.Source, tmp_path: Path, box: Any, quick: None
) -> None:
    own = (
        "class TreeMetrics:\n    higher_is_better = True\n\n"
        "    def validate_submission(self, submission, ground_truth):\n        return True\n\n"
        "    def evaluate(self, y_true, y_pred):\n        return float((y_true['size'] == y_pred['size']).mean())\n"
    )
    script = replies(metric=['{"metric": "pack"}', f"```python\n{own}```"])
    made, policy = build(trees, tmp_path / "out", box, script)
    assert made.status == "passed", made.reason
    assert "\n- balanced_accuracy (" in policy.requests[-2].messages[0].content
    assert open_pack(tmp_path / "out" / "trees").config.metric.name == "pack"


def test_nothing_that_somebody_made_is_written_over(
    trees: sources.Source, tmp_path: Path, box: Any, quick: None
) -> None:
    to = tmp_path / "out"
    (to / "trees").mkdir(parents=True)
    (to / "trees" / "pack.yaml").write_text("slug: trees\n")
    made, policy = build(trees, to, box, replies())
    assert (made.status, policy.requests) == ("failed", [])
    assert "this build did not make it" in made.reason
    (to / "trees").rename(tmp_path / "mine")
    assert build(trees, to, box, replies())[0].status == "passed"
    with (to / "trees" / "description.md").open("a") as file:
        file.write("A better word.\n")
    made, _ = build(trees, to, box, [], only="check")
    assert "is not as this build left it" in made.reason
    assert "A better word." in (to / "trees" / "description.md").read_text()


def test_what_ends_every_question_ends_the_run_and_a_full_disk_one_task(
    trees: sources.Source, tmp_path: Path, box: Any, quick: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    def no_key(request: Request) -> str:
        raise AccessError("the key is wrong")

    (tmp_path / "more").mkdir()
    (tmp_path / "more" / "a.csv").write_text("a\n1\n")
    both = [trees, sources.parse(str(tmp_path / "more"))]
    options = Options(to=tmp_path / "out", policy=ScriptedPolicy(no_key))
    assert [len(made.stages) for made in pipeline.build(both, options, sandbox=box)] == [3, 0]

    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(pipeline, "perceive", full)
    made = pipeline.build(both, options, sandbox=box)
    assert [one.reason.partition(" in ")[0] for one in made] == ["perceive: No space is left"] * 2


def test_benchmarks_are_left_out_and_links_refused(tmp_path: Path, box: Any, quick: None) -> None:
    folder = tmp_path / "spooky-author-identification"
    folder.mkdir()
    (folder / "a.csv").write_text("a\n1\n")
    made, _ = build(sources.parse(str(folder)), tmp_path / "out", box, [])
    assert (made.status, made.reason) == ("excluded", "MLE-bench has a task of this name")
    (folder / "b.csv").symlink_to(folder / "a.csv")
    made, _ = build(sources.parse(str(folder)), tmp_path / "out", box, [], include_benchmarks=True)
    assert "b.csv is a symbolic link" in made.reason
    assert funnel.count(workspace.states(tmp_path / "out")).eligible == 0  # nothing was written over


def test_no_row_of_the_hidden_answers_is_in_a_prompt(
    trees: sources.Source, tmp_path: Path, box: Any, quick: None
) -> None:
    _, policy = build(trees, tmp_path / "out", box, replies())
    rows = list(csv.reader(io.StringIO((box.folder / "output1" / "private" / "test_answer.csv").read_text())))
    asked = policy.requests[-1].messages[0].content
    assert not any(",".join(row) in asked for row in rows[1:] if row[1] != "tall")
