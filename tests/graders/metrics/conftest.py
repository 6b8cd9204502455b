from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from openmle_env.graders import metrics

if TYPE_CHECKING:
    from collections.abc import Callable


@pytest.fixture(scope="session")
def compute() -> Callable[..., float]:
    """The value of the named metric, of cells that are read as a task's are; further keywords are its parameters."""

    def value(name: str, truth: Any, predicted: Any, *, kind: Any = None, answers: Any = None, **given: Any) -> float:
        return metrics.get(name, given).value(truth, predicted, kind=kind, answers=answers)

    return value
