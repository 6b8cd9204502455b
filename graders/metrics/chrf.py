"""chrF, the F-score of the n-grams of characters that generated texts share with reference texts."""

from __future__ import annotations

import math
from collections import Counter
from typing import TYPE_CHECKING, Annotated

import numpy as np

from openmle_env.errors import PackError
from openmle_env.graders.metrics.bleu import DEGENERATE, NO_REFERENCE, TRIAL, Level, Lowercase
from openmle_env.graders.metrics.examples import Golden
from openmle_env.graders.metrics.parameters import Option
from openmle_env.graders.metrics.registry import metric
from openmle_env.graders.metrics.text import References
from openmle_env.graders.metrics.tokens import split_references, too_long
from openmle_env.graders.rows import Array

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

CHARACTER_ORDER = 6
BETA = 2

_PUNCTUATION = frozenset("!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~")


@metric(
    higher_is_better=True,
    range=(0.0, 1.0),
    kinds=("text",),
    truth="text",
    source="(1 + 4) * P * R / (4 * P + R), where P and R are the means over n = 1 to 6 of the shares of the "
    "predicted and of the true character n-grams that are shared, blanks left out (Popović, 2015; beta 2); with "
    "word_order 2 word 1-grams and 2-grams too: chrF++ (Popović, 2017). That of sacrebleu's CHRF, which prints 100 "
    "times this; orders that a text is too short for are left out.",
    degenerate=DEGENERATE,
    golden=(
        Golden(truth=("no",), predicted=("yes",), score=0.0),
        Golden(truth=("ab c",), predicted=("abc",), score=1.0, note="Blanks do not count."),
        Golden(
            truth=("ab",),
            predicted=("a",),
            score=5 * 1 * 0.5 / (4 * 1 + 0.5),
            note="Order 1 only: P = 1, R = 1/2.",
        ),
        Golden(truth=("ab", "c"), predicted=("", "c"), score=5 * 1 * (1 / 3) / (4 + 1 / 3), note="P = 1, R = 1/3."),
        Golden(truth=("ab", "c", ""), predicted=("", "c", ""), score=2 / 3, parameters={"level": "sentence"}),
        Golden(truth=("AB",), predicted=("ab",), score=1.0, parameters={"lowercase": True}),
        Golden(
            truth=("a b",),
            predicted=("a",),
            score=5 * 1 * 0.5 / (4 * 1 + 0.5),
            parameters={"word_order": 2},
            note="One character of two, one word of two.",
        ),
        Golden(truth=("x ||| ab",), predicted=("ab",), score=1.0, parameters={"references": "|||"}),
    ),
    trial=TRIAL,
    aliases={"chrf++": {"word_order": 2}},
    check=too_long,
)
def chrf(
    truth: Array,
    predicted: Array,
    *,
    level: Level = "corpus",
    lowercase: Lowercase = False,
    word_order: Annotated[int, Option("The longest n-gram of words that counts; 2 for chrF++.", low=0, high=4)] = 0,
    references: References = "",
) -> float:
    """The F-score of character n-grams (chrF) of generated texts, from 0 to 1."""
    total, scores = np.zeros((CHARACTER_ORDER + word_order, 3), dtype=np.int64), []
    for cell, found in zip(truth, predicted, strict=True):
        texts = split_references(cell, references)
        if lowercase:
            texts, found = [text.lower() for text in texts], found.lower()  # noqa: PLW2901  nothing else reads it
        counts = [_count(text, found, word_order) for text in texts]
        best = counts[0] if len(counts) == 1 else max(counts, key=_f_score)
        total += best
        if level == "sentence":
            nothing = not found.split() and not all(text.split() for text in texts)
            scores.append(1.0 if nothing else _f_score(best))
    if level == "sentence":
        return math.fsum(scores) / len(scores)
    if not total[:, 1].any():
        raise PackError(NO_REFERENCE)
    return _f_score(total.tolist())


def _count(true: str, found: str, word_order: int) -> list[tuple[int, int, int]]:
    """For each order: n-grams of the prediction, of the reference, and of both.

    Those of the prediction count only where the reference has any of that order, as in sacrebleu.
    """
    counts = []
    for first, second, orders in (
        ("".join(true.split()), "".join(found.split()), CHARACTER_ORDER),
        (_word_parts(true), _word_parts(found), word_order),
    ):
        for n in range(1, orders + 1):
            wanted = Counter(_ngrams(first, n))
            # Only n-grams that the reference has are kept, so that a long prediction takes no memory.
            shared = Counter(ngram for ngram in _ngrams(second, n) if ngram in wanted)
            both = sum(min(number, wanted[ngram]) for ngram, number in shared.items())
            counts.append((max(len(second) - n + 1, 0) if wanted else 0, wanted.total(), both))
    return counts


def _ngrams(units: str | tuple[str, ...], n: int) -> Iterator[str | tuple[str, ...]]:
    return (units[first : first + n] for first in range(len(units) - n + 1))


def _word_parts(text: str) -> tuple[str, ...]:
    """Words between blanks; one mark of punctuation at a word's end, else at its start, is a word of its own."""
    parts: list[str] = []
    for word in text.split():
        if len(word) > 1 and word[-1] in _PUNCTUATION:
            parts += (word[:-1], word[-1])
        elif len(word) > 1 and word[0] in _PUNCTUATION:
            parts += (word[0], word[1:])
        else:
            parts.append(word)
    return tuple(parts)


def _f_score(counts: Sequence[Sequence[int]]) -> float:
    """The F-score of the mean precision and recall of the orders that both texts have."""
    defined = [(found, true, both) for found, true, both in counts if found and true]
    precision = sum(both / found for found, _, both in defined) / max(len(defined), 1)
    recall = sum(both / true for _, true, both in defined) / max(len(defined), 1)
    return (1 + BETA**2) * precision * recall / (BETA**2 * precision + recall) if precision else 0.0
