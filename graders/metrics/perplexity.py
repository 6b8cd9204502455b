"""Perplexity of the log probabilities that a language model gave to the tokens of a text."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Literal

import numpy as np

from openmle_env.errors import PackError
from openmle_env.graders.metrics.examples import Golden, Trial
from openmle_env.graders.metrics.parameters import AnswerColumn, Option
from openmle_env.graders.metrics.registry import metric
from openmle_env.graders.rows import Array

if TYPE_CHECKING:
    from collections.abc import Iterator

ROUNDING = 1e-6
"""A log probability up to this is 0, as a softmax in single precision may leave it."""

Base = Literal["e", "2", "10"]
_NATURAL = {"e": 1.0, "2": float(np.log(2)), "10": float(np.log(10))}


def _positive(predicted: Array) -> Iterator[tuple[int, str]]:
    for row in np.flatnonzero(predicted > ROUNDING).tolist():
        yield row, "a log probability is at most 0"


@metric(
    higher_is_better=False,
    range=(1.0, np.inf),
    kinds=("number",),
    targets="column",
    arity=(1, 1),
    answered=0,
    check=_positive,
    source="exp(-sum of log probabilities / number of tokens) (Jelinek et al. 1977). A row is one token, or a text "
    "with the sum of its tokens' log probabilities, the number of its tokens standing in the answers. Nothing in the "
    "answers can contradict the numbers: score it only where what wrote them is trusted; elsewhere let programs "
    "predict the probabilities of all candidates, and score multiclass_log_loss.",
    degenerate="No token counts as less probable than clip, so the worst value is 1 / clip. A log probability above 0 "
    "is refused.",
    golden=(
        Golden(truth=(), predicted=(0.0, 0.0), score=1.0),
        Golden(truth=(), predicted=(-0.6931471805599453, -2.0794415416798357), score=4.0, note="Of 1/2 and 1/8."),
        Golden(truth=(), predicted=(-1, -3), parameters={"base": "2"}, score=4.0, note="The same in bits."),
        Golden(truth=(), predicted=(-1, -3), parameters={"base": "10"}, score=100.0),
        Golden(
            truth=(),
            predicted=(-3, -5),
            parameters={"base": "2", "tokens": "n"},
            answers={"n": (1, 3)},
            score=4.0,
            note="8 bits over 4 tokens.",
        ),
        Golden(truth=(), predicted=(-1e300,), score=1e100, note="Clipped."),
        Golden(truth=(), predicted=(-50, 0), parameters={"base": "2", "clip": 0.25}, score=2.0),
    ),
    trial=Trial(
        truth=(),
        perfect=(0.0, 0.0, 0.0),
        noisy=(-0.1, -0.5, -1.2),
        constant=(-1.0986122886681098,) * 3,
        chance=3.0,
    ),
    aliases={"token_perplexity": {}},
)
def perplexity(
    truth: None,  # noqa: ARG001  the answers hold the ids, and the numbers of tokens at most
    predicted: Array,
    *,
    base: Annotated[Base, Option("Of the logarithm.")] = "e",
    clip: Annotated[
        float, Option("No token counts as less probable than this, on the mean of a row.", low=1e-300, high=1)
    ] = 1e-100,
    tokens: Annotated[
        Array | None, AnswerColumn("Number of tokens in each row; 1 if left out.", kind="integer")
    ] = None,
) -> float:
    """Perplexity of tokens, from the logarithms of their probabilities."""
    counts = np.ones(len(predicted), dtype=np.int64) if tokens is None else tokens
    if (counts < 1).any():
        raise PackError("A number of tokens in the answers is below 1. Correct it.")
    natural = predicted * _NATURAL[base]
    surprise = (-natural).clip(0.0, -np.log(clip) * counts)
    return float(np.exp(surprise.sum() / counts.sum(dtype=np.float64)))  # integers could overflow
