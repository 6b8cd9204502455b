from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from openmle_env.graders import metrics
from openmle_env.graders.metrics import Golden

if TYPE_CHECKING:
    from collections.abc import Callable


@pytest.fixture(scope="session")
def compute() -> Callable[..., float]:
    """The value of the named metric, of cells that are read as a task's are; further keywords are its parameters."""

    def value(name: str, truth: Any, predicted: Any, *, kind: Any = None, answers: Any = None, **given: Any) -> float:
        example = Golden(truth=truth, predicted=predicted, score=0, kind=kind, answers=answers or {}, parameters=given)
        used, true, found = metrics.get(name).example(example)
        return used(true, found)

    return value
