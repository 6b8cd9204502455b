from __future__ import annotations

import copy
import inspect
import pickle

import pytest

from openmle_env import errors
from openmle_env.errors import OpenMLEError, unknown_name
from openmle_env.types import Fault

ALL = [kind for kind in vars(errors).values() if inspect.isclass(kind) and issubclass(kind, OpenMLEError)]


@pytest.mark.parametrize("kind", ALL)
def test_every_error_survives_the_way_between_processes(kind: type[OpenMLEError]) -> None:
    error = kind("What is wrong with 'this'.")
    for other in (pickle.loads(pickle.dumps(error)), copy.copy(error)):  # noqa: S301  ours
        assert type(other) is kind
        assert str(other) == "What is wrong with 'this'."


@pytest.mark.parametrize("kind", ALL)
def test_every_error_says_who_has_to_act_and_is_documented(kind: type[OpenMLEError]) -> None:
    assert kind.fault in set(Fault) - {Fault.NONE}
    assert kind.__doc__


def test_errors_are_the_builtin_ones_too() -> None:
    assert issubclass(errors.UsageError, ValueError)
    assert issubclass(errors.UnknownNameError, errors.UsageError)
    assert issubclass(errors.SandboxUnavailableError, RuntimeError)
    assert issubclass(errors.DiskFullError, OSError)


@pytest.mark.parametrize(
    ("name", "known", "message"),
    [
        ("titanc", ["titanic", "bikes"], "There is no task 'titanc'. Did you mean 'titanic'?"),
        ("bik", ["bikes-of-a-whole-city", "a"], "There is no task 'bik'. Did you mean 'bikes-of-a-whole-city'?"),
        ("bi", ["bikes-of-a-whole-city", "a"], "There is no task 'bi'. Known: a, bikes-of-a-whole-city."),
        ("zzz", ["b", "a"], "There is no task 'zzz'. Known: a, b."),
        ("zzz", [], "There is no task 'zzz'. Known: none."),
        ("zzz", [str(number) for number in range(17)], "There is no task 'zzz'."),
    ],
)
def test_an_unknown_name_comes_with_what_is_near(name: str, known: list[str], message: str) -> None:
    assert str(unknown_name("task", name, known)) == message
    assert str(unknown_name("task", name, known, hint="See `list`.")) == f"{message} See `list`."
