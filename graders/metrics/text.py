"""Metrics of words that two texts share: Jaccard, exact match, F1 of an answer, ROUGE."""

from __future__ import annotations

import math
from collections import Counter
from typing import TYPE_CHECKING, Annotated, Literal, TypeAlias

from openmle_env.errors import PackError
from openmle_env.graders.metrics.examples import Golden, Trial
from openmle_env.graders.metrics.parameters import Option
from openmle_env.graders.metrics.registry import metric
from openmle_env.graders.metrics.tokens import (
    answer_words,
    ascii_words,
    encode,
    split_items,
    split_references,
    too_long,
)
from openmle_env.graders.rows import Array

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

References: TypeAlias = Annotated[
    str,
    Option("What stands between several true texts in one cell, of which the best counts; one text, if empty."),
]
Words: TypeAlias = Annotated[
    Literal["ascii", "blanks"],
    Option(
        "What a word is, in lower case: a run of a-z and 0-9, as in the rouge-score package, or what stands between "
        "blanks (for other scripts)."
    ),
]

_WORDLESS = (
    "Two texts without a word score 1 if they are the same text, else 0 (the rouge-score package says 0 of all such "
    "pairs); one of them 0. Undefined where no true text has a word of a-z and 0-9 but some have letters: then the "
    "parameter words should be blanks."
)
_TEXTS = ("the cat sat", "a dog barked", "birds sing")
_TRIAL = Trial(truth=_TEXTS, perfect=_TEXTS, noisy=("the cat sat", "a dog ran", "birds"), constant=("the cat",) * 3)


@metric(
    higher_is_better=True,
    range=(0.0, 1.0),
    kinds=("text",),
    truth="text",
    source="Mean over rows of |A and B| / |A or B|, where A and B are the sets of words between blanks, in lower case "
    "(Kaggle's Tweet Sentiment Extraction and chaii).",
    degenerate="Two texts without a word score 1, one of them 0.",
    golden=(
        Golden(
            truth=("very good", "I don't care", "bad"),
            predicted=("good", "i don't CARE", "so bad"),
            score=2 / 3,
            note="1/2, 1 and 1/2.",
        ),
        Golden(truth=("", "y", "bad"), predicted=("", "x", "bad"), score=2 / 3),
        Golden(truth=("delhi", "in 1947"), predicted=("new delhi", "1947"), score=0.5),
        Golden(truth=("a b",), predicted=("b b a a",), score=1.0, note="Sets: neither order nor number matters."),
        Golden(truth=("Bad",), predicted=("bad",), score=0.0, parameters={"lowercase": False}),
    ),
    trial=_TRIAL,
    check=too_long,
)
def jaccard_words(
    truth: Array,
    predicted: Array,
    *,
    lowercase: Annotated[bool, Option("Whether case is ignored.")] = True,
) -> float:
    """The mean Jaccard similarity of the sets of words of two texts."""

    def value(true: str, found: str) -> float:
        if lowercase:
            true, found = true.lower(), found.lower()
        first, second = set(true.split()), set(found.split())
        return len(first & second) / len(first | second) if first or second else 1.0

    return _mean(truth, predicted, "", value)


@metric(
    higher_is_better=True,
    range=(0.0, 1.0),
    kinds=("text",),
    truth="text",
    source="Share of rows whose text is that of the truth, or of one of its references; with normalise=squad both "
    "without case, ASCII punctuation, English articles and repeated blanks, as SQuAD compares answers (Rajpurkar et "
    "al., 2016).",
    degenerate="Two empty texts match.",
    golden=(
        Golden(truth=("Rome", "Paris"), predicted=("rome", "Paris"), score=0.5),
        Golden(truth=("The Cat.", "a"), predicted=("cat", ""), score=1.0, parameters={"normalise": "squad"}),
        Golden(truth=("NYC ||| New York",), predicted=("New York",), score=1.0, parameters={"references": "|||"}),
        Golden(truth=("", ""), predicted=("", "x"), score=0.5),
    ),
    trial=Trial(
        truth=_TEXTS, perfect=_TEXTS, noisy=("the cat sat", "a dog barked", "x"), constant=("the cat sat",) * 3
    ),
    aliases={"squad_exact_match": {"normalise": "squad"}},
    check=too_long,
)
def exact_match(
    truth: Array,
    predicted: Array,
    *,
    normalise: Annotated[Literal["none", "squad"], Option("What is done to both texts first.")] = "none",
    references: References = "",
) -> float:
    """The share of texts that equal the true one."""

    def value(true: str, found: str) -> float:
        return float(answer_words(true) == answer_words(found) if normalise == "squad" else true == found)

    return _mean(truth, predicted, references, value)


@metric(
    higher_is_better=True,
    range=(0.0, 1.0),
    kinds=("text",),
    truth="text",
    source="Mean over rows of F1 = 2 * shared / (words of truth + words of prediction), where repeated words are "
    "shared as often as both have them, after SQuAD's normalisation: without case, ASCII punctuation and English "
    "articles (Rajpurkar et al., 2016; empty answers as in SQuAD 2.0).",
    degenerate="Two texts without a word score 1, one of them 0.",
    golden=(
        Golden(truth=("the cat sat",), predicted=("A cat!",), score=2 / 3, note="cat of (cat sat) and (cat)."),
        Golden(truth=("no no yes",), predicted=("no yes yes",), score=2 / 3, note="no and yes are shared once each."),
        Golden(truth=("", "the", "x"), predicted=("", "", ""), score=2 / 3),
        Golden(
            truth=("Rome|the city of Rome",), predicted=("city of Rome",), score=1.0, parameters={"references": "|"}
        ),
    ),
    trial=_TRIAL,
    check=too_long,
)
def squad_f1(truth: Array, predicted: Array, *, references: References = "") -> float:
    """The mean F1 of the words of an answer and those of the true one."""

    def value(true: str, found: str) -> float:
        return _shared(answer_words(true), answer_words(found))

    return _mean(truth, predicted, references, value)


@metric(
    higher_is_better=True,
    range=(0.0, 1.0),
    kinds=("text",),
    truth="text",
    source="Mean over rows of F1 = 2 * LCS / (words of truth + words of prediction), where LCS is the length of the "
    "longest common subsequence of words (Lin, 2004); words as the parameter says, no stemming, beta 1.",
    degenerate=_WORDLESS,
    golden=(
        Golden(truth=("the cat sat on the mat",), predicted=("The cat, on the sofa.",), score=8 / 11, note="LCS 4."),
        Golden(truth=("a b c",), predicted=("c b a",), score=1 / 3),
        Golden(truth=("", "a", "?!", "?!"), predicted=("", "", "?!", "..."), score=0.5, note="1, 0, 1 and 0."),
        Golden(truth=("кот спит",), predicted=("Кот ел",), score=0.5, parameters={"words": "blanks"}),
        Golden(truth=("a dog ||| the cat",), predicted=("the cat",), score=1.0, parameters={"references": "|||"}),
    ),
    trial=_TRIAL,
    aliases={"rougeL": {}},
    check=too_long,
)
def rouge_l(truth: Array, predicted: Array, *, words: Words = "ascii", references: References = "") -> float:
    """ROUGE-L: the mean F1 of the longest common subsequence of words."""
    from rapidfuzz.distance import LCSseq

    split = _splitter(truth, words)

    def value(true: str, found: str) -> float:
        first, second = encode(split(true), split(found))
        if not first and not second:
            return _same(true, found)
        return 2 * LCSseq.similarity(first, second) / (len(first) + len(second))

    return _mean(truth, predicted, references, value)


@metric(
    higher_is_better=True,
    range=(0.0, 1.0),
    kinds=("text",),
    truth="text",
    source="Mean over rows of F1 = 2 * shared / (n-grams of truth + n-grams of prediction), where an n-gram of words "
    "is shared as often as both have it (Lin, 2004); words as the parameter says, no stemming.",
    degenerate="Where a text has fewer than n words, equal words score 1 and others 0. " + _WORDLESS,
    golden=(
        Golden(truth=("the cat sat",), predicted=("the cat ran",), score=2 / 3),
        Golden(truth=("the cat sat",), predicted=("the cat ran",), score=0.5, parameters={"n": 2}),
        Golden(truth=("a a b",), predicted=("a b b",), score=2 / 3, note="a and b are shared once each."),
        Golden(truth=("cat", "cat", ""), predicted=("Cat", "cat dog", ""), score=2 / 3, parameters={"n": 2}),
        Golden(truth=("x ||| the cat",), predicted=("the cat",), score=1.0, parameters={"references": "|||"}),
    ),
    trial=_TRIAL,
    aliases={"rouge1": {"n": 1}, "rouge2": {"n": 2}},
    check=too_long,
)
def rouge_n(
    truth: Array,
    predicted: Array,
    *,
    n: Annotated[int, Option("How many words make one n-gram.", low=1, high=9)] = 1,
    words: Words = "ascii",
    references: References = "",
) -> float:
    """ROUGE-N: the mean F1 of the n-grams of words."""
    split = _splitter(truth, words)

    def value(true: str, found: str) -> float:
        first, second = split(true), split(found)
        if not first and not second:
            return _same(true, found)
        if min(len(first), len(second)) < n:
            return float(first == second)
        return _shared(_ngrams(first, n), _ngrams(second, n))

    return _mean(truth, predicted, references, value)


def _ngrams(words: Sequence[str], n: int) -> list[tuple[str, ...]]:
    return list(zip(*(words[first:] for first in range(n)), strict=False))


def _splitter(truth: Array, words: str) -> Callable[[str], list[str]]:
    if words == "blanks":
        return lambda text: split_items(text.lower())
    if not any(map(ascii_words, truth)) and any(map(str.isalpha, "".join(truth))):
        raise PackError("No true text has a word of a to z and 0 to 9. For other scripts set words=blanks.")
    return ascii_words


def _same(true: str, found: str) -> float:
    """1 for the same text, case and blanks aside: all that can be compared where neither has a word."""
    return float(true.lower().split() == found.lower().split())


def _shared(first: Sequence[object], second: Sequence[object]) -> float:
    """F1 of two bags of words."""
    if not first or not second:
        return float(len(first) == len(second))
    return 2 * (Counter(first) & Counter(second)).total() / (len(first) + len(second))


def _mean(truth: Array, predicted: Array, references: str, value: Callable[[str, str], float]) -> float:
    """The mean over rows of the value of the best reference."""
    best = [
        max(value(true, found) for true in split_references(cell, references))
        for cell, found in zip(truth, predicted, strict=True)
    ]
    return math.fsum(best) / len(best)
