"""What headers say is read as it is meant, and what nobody understands is refused."""

from __future__ import annotations

import pytest

from openmle_env.types import Artifact, ArtifactState, Execution, ResultStatus
from tests.attacks.conditions import ConditionError, check, holds, steers_no_terminal
from tests.attacks.header import LIMITS, MEANWHILE, NEXT, HeaderError, Place, parse, parse_limits

GOOD = "# tries: to win\n# expect: success or timeout\n"
DOCKER = Place(backend="docker", way="single")
BARE = Place(backend="bubblewrap", way="forked", grouped=False, ordinary=True)


def test_a_header_is_read():
    attack = parse("kind/name", GOOD + "# limits: memory_mb=96 wall_seconds=1.5\n# holds: exit_code == 0\nprint()\n")
    assert (attack.kind, attack.tries, attack.control, attack.graded) == ("kind", "to win", "", None)
    assert attack.expected(DOCKER) == (ResultStatus.SUCCESS, ResultStatus.TIMEOUT)
    assert (attack.limits.memory_mb, attack.limits.wall_seconds, attack.limits.cpus) == (96, 1.5, LIMITS.cpus)
    assert attack.holds(DOCKER) == ["exit_code == 0"]
    assert attack.programs[0].endswith("print()\n")


def test_the_most_particular_place_is_taken():
    text = GOOD + "# expect(bubblewrap): timeout\n# expect(uncgrouped): out_of_memory\n# open(ordinary): why\n"
    attack = parse("a/b", text)
    assert attack.expected(DOCKER) == (ResultStatus.SUCCESS, ResultStatus.TIMEOUT)
    assert attack.expected(Place(backend="bubblewrap", way="single")) == (ResultStatus.TIMEOUT,)
    assert attack.expected(BARE) == (ResultStatus.OUT_OF_MEMORY,)
    assert (attack.is_open(DOCKER), attack.is_open(BARE)) == ("", "why")


@pytest.mark.parametrize(("separator", "meanwhile"), [(NEXT, False), (MEANWHILE, True)])
def test_a_file_may_hold_two_programs(separator, meanwhile):
    attack = parse("a/b", f"{GOOD}# then: timeout\nfirst\n{separator}\nsecond\n")
    assert attack.programs[1] == "second\n"
    assert "first" in attack.programs[0]
    assert attack.meanwhile is meanwhile
    assert attack.expected(DOCKER, 1) == (ResultStatus.TIMEOUT,)


def test_a_source_is_changed():
    assert parse("a/b", GOOD + "# source: a NUL at its end\nx\n").programs[0].endswith("x\n\0")
    assert len(parse("a/b", GOOD + "# source: padded to 200001\nx\n").programs[0]) == 200_001


@pytest.mark.parametrize(
    "text",
    [
        "print('no header')\n",
        "# tries: to win\nx\n",
        "# expect: success\nx\n",
        GOOD + "# hopes: much\nx\n",
        GOOD + "# expect(podman): success\nx\n",
        GOOD + "# expect: timeout\nx\n",
        GOOD + "# just words\nx\n",
        GOOD + "# source: reversed\nx\n",
        GOOD + f"x\n{NEXT}\ny\n{NEXT}\nz\n",
    ],
)
def test_what_is_not_understood_is_refused(text):
    with pytest.raises(HeaderError):
        parse("a/b", text)


def test_a_limit_that_does_not_exist_is_refused():
    with pytest.raises(HeaderError, match="memory_gb"):
        parse_limits("memory_gb=1")


RUN = Execution(
    status=ResultStatus.CODE_EXECUTION_ERROR,
    exit_code=3,
    stdout="some words",
    stdout_bytes=10,
    notes=("one note", "another note"),
    artifacts={"submission.csv": Artifact(name="submission.csv", state=ArtifactState.OK, content=b"id,y\n\xff")},
)


@pytest.mark.parametrize(
    ("condition", "true"),
    [
        ("stdout has some words", True),
        ("stdout has other words", False),
        ("stdout has no words", False),
        ("stdout has no other", True),
        ("notes has another note", True),
        ("submission has id,y", True),
        ("submission is ok", True),
        ("submission is missing", False),
        ("exit_code == 3", True),
        ("stdout_bytes >= 11", False),
        ("stdout_bytes <= 10.5", True),
        ("peak_memory_mb >= 0", False),
        ("feedback has Exit code: 3", True),
        ("stdout steers no terminal", True),
    ],
)
def test_a_condition_is_true_or_not(condition, true):
    assert holds(condition, RUN) is true


@pytest.mark.parametrize(
    "condition", ["", "stdout hat worte", "mood has words", "mood == 1", "stdout has", "stdout > 1"]
)
def test_a_condition_that_is_not_understood_is_refused(condition):
    with pytest.raises(ConditionError):
        check(condition)


@pytest.mark.parametrize("text", ["\x1b[31m", "a\rb", "\x07", "\x9b1m", "\x7f"])
def test_what_steers_a_terminal_is_noticed(text):
    assert not steers_no_terminal(text)
    assert steers_no_terminal("plain\n\twords, and äöü")
