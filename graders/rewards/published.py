"""A score beside a published result: the relative gap, and whether the result is matched or surpassed."""

from __future__ import annotations

import sys
from fractions import Fraction
from typing import NamedTuple

from openmle_env.errors import UsageError
from openmle_env.graders.rewards.scores import finite, signed

SURPASS = 0.1
"""The relative gap above which a published result counts as surpassed."""


class PublishedComparison(NamedTuple):
    """How a score compares with a published result."""

    gap: float | None
    """Relative gap, positive where the score is better; None without a score."""
    match: bool
    """At least as good."""
    surpass: bool
    """Better by more than a tenth of the published result's absolute value."""


def compare_published(score: float | None, published: float, *, higher_is_better: bool) -> PublishedComparison:
    """G = dir (m - m_published) / |m_published|; match where g >= 0, surpass where g > 0.1 (OpenRSI paper, Eq. 5).

    Both numbers are taken as the decimals that they print as, so that 1.1 against 1.0 is a gap of exactly 0.1.

    Args:
        score: As the metric gives it; None, NaN or infinite (no score) neither matches nor surpasses.
        published: The published result, on the same metric.
        higher_is_better: Direction of the metric.

    Raises:
        UsageError: The published result is 0, to which no gap is relative, or not finite; or the score is no number.

    >>> compare_published(0.44, 0.5, higher_is_better=False)
    PublishedComparison(gap=0.12, match=True, surpass=True)
    """
    reference = finite(published)
    if reference is None or reference == 0:
        raise UsageError(f"A published result is a finite number other than 0, not {published!r}: gaps are relative.")
    if signed(score, higher_is_better=higher_is_better) is None:
        return PublishedComparison(None, match=False, surpass=False)
    number = finite(score) or 0.0
    gap = (_decimal(number) - _decimal(reference)) / abs(_decimal(reference))
    if not higher_is_better:
        gap = -gap
    return PublishedComparison(_bounded(gap), match=gap >= 0, surpass=gap > _decimal(SURPASS))


def _decimal(number: float) -> Fraction:
    return Fraction(repr(number))


def _bounded(gap: Fraction) -> float:
    """As a float, within the largest ones: a result of 1e-300 may be missed by more spans than there are floats."""
    limit = Fraction(sys.float_info.max)
    return float(min(limit, max(-limit, gap)))
