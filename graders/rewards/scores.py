"""What counts as a score, and the sign that makes higher better; and the checks of settings that rewards share."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from openmle_env.errors import UsageError
from openmle_env.graders.medals import finite_number, stated_direction


def finite(score: float | None) -> float | None:
    """``score`` as a float if it is one: None for a missing, NaN or infinite one.

    Raises:
        UsageError: It is no number at all, such as a text or a bool.
    """
    if score is None:
        return None
    try:
        if not isinstance(score, str | bytes | bool | np.bool_):
            return finite_number(float(score))
    except OverflowError:  # an integer of more than 308 digits
        return None
    except (TypeError, ValueError):
        pass
    raise UsageError(f"A score is a number, or None for a program without one, not {score!r}. Convert it first.")


def signed(score: float | None, *, higher_is_better: bool) -> float | None:
    """The score with the sign that makes higher better, or None where there is none (missing, NaN, infinite).

    OpenRSI paper, Eq. 6. A perfect loss of 0 is 0.0.

    Raises:
        UsageError: The direction is not a bool; it is data of the task and never guessed. Or the score is no number.

    >>> signed(0.3, higher_is_better=False), signed(float("nan"), higher_is_better=True)
    (-0.3, None)
    """
    higher = stated_direction(higher_is_better)
    number = finite(score)
    if number is None or higher:
        return number
    return 0.0 - number  # 0.0, not -0.0


def known(values: Iterable[float | None]) -> list[float]:
    """Those that are not None."""
    return [value for value in values if value is not None]


def listed(scores: Iterable[float | None], name: str) -> list[float | None]:
    """The scores as a list, of which each is checked by `finite` later.

    Raises:
        UsageError: It is no collection, but a single number for example.
    """
    if isinstance(scores, str | bytes) or not isinstance(scores, Iterable):
        raise UsageError(f"{name} is a list of scores, None for each program without one; not {scores!r}.")
    return list(scores)


def above_zero(value: float, name: str) -> None:
    """Refuse a setting that should be greater than 0.

    Raises:
        UsageError: It is 0, negative, not finite, or no number.
    """
    if not (finite_number(value) is not None and value > 0):
        raise UsageError(f"{name} is a finite number above 0, not {value!r}.")


def at_least_zero(value: float, name: str) -> None:
    """Refuse a setting that should be 0 or greater.

    Raises:
        UsageError: It is negative, not finite, or no number.
    """
    if not (finite_number(value) is not None and value >= 0):
        raise UsageError(f"{name} is a finite number of at least 0, not {value!r}.")


def need_instance(value: Any, kind: type, what: str) -> None:
    """Refuse an argument of another type.

    Raises:
        UsageError: It is not a ``kind``; ``what`` says what it should be, and how to make one.
    """
    if not isinstance(value, kind):
        raise UsageError(f"{what} Given: {value!r}.")
