"""BLEU of generated texts, by sacrebleu with every option pinned."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Annotated, Literal, TypeAlias

import numpy as np

from openmle_env.errors import PackError
from openmle_env.graders.metrics.examples import Golden, Trial
from openmle_env.graders.metrics.parameters import Option
from openmle_env.graders.metrics.registry import metric
from openmle_env.graders.metrics.text import References
from openmle_env.graders.metrics.tokens import split_references, too_long
from openmle_env.graders.rows import Array

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from sacrebleu.metrics.bleu import BLEU

Level: TypeAlias = Annotated[
    Literal["corpus", "sentence"],
    Option("Whether n-grams are counted over all rows, or each row has its score and the mean counts."),
]
Lowercase: TypeAlias = Annotated[bool, Option("Whether both texts are put into lower case first.")]

ORDER = 4
"""The longest n-gram of words."""

DEGENERATE = (
    "No shared n-gram or an empty prediction is 0, the same text is 1, however short. Level sentence: two empty texts "
    "score 1. Level corpus: undefined where all references are empty."
)
NO_REFERENCE = "All references are empty; there is no n-gram to compare."

_TEXTS = ("the cat sat on the mat", "a dog barked at the moon", "birds sing in the morning")
TRIAL = Trial(
    truth=_TEXTS,
    perfect=_TEXTS,
    noisy=("the cat sat on the mat", "a dog barked at a moon", "birds sing"),
    constant=("the cat sat on the mat",) * 3,
)

_SMOOTH_VALUE = {"floor": 0.1, "add-k": 1.0}
_BATCH_ROWS = 1_000
_BATCH_CHARACTERS = 1_000_000


@metric(
    higher_is_better=True,
    range=(0.0, 1.0),
    kinds=("text",),
    truth="text",
    source="BP * exp(mean over n = 1 to 4 of log p_n), where p_n is the share of the predicted n-grams that the "
    "reference has, BP = min(1, exp(1 - reference length / predicted length)) (Papineni et al., 2002). sacrebleu's "
    "BLEU, which prints 100 times this; orders without a predicted n-gram are left out at both levels "
    "(effective_order=True), sacrebleu's own default for a corpus is to score 0 then.",
    degenerate=DEGENERATE,
    golden=(
        Golden(truth=("no",), predicted=("yes",), score=0.0),
        Golden(truth=("good morning",), predicted=("good morning",), score=1.0, note="Two words, no 4-gram."),
        Golden(truth=("good morning", "a b"), predicted=("", "a b"), score=math.exp(-1), note="BP of 2 words for 4."),
        Golden(
            truth=("good morning", "a b", ""), predicted=("", "a b", ""), score=2 / 3, parameters={"level": "sentence"}
        ),
        Golden(
            truth=("a b c d e",),
            predicted=("a b c d f",),
            score=(4 / 5 * 3 / 4 * 2 / 3 * 1 / 2) ** (1 / 4),
            note="p = 4/5, 3/4, 2/3, 1/2; same length.",
        ),
        Golden(
            truth=("a b c x d",),
            predicted=("a b c y d",),
            score=(4 / 5 * 2 / 4 * 1 / 3 * 1 / (2 * 2)) ** (1 / 4),
            note="No 4-gram of two is shared: exp smoothing counts 1/2 of one.",
        ),
        Golden(truth=("a b c x d",), predicted=("a b c y d",), score=0.0, parameters={"smoothing": "none"}),
        Golden(
            truth=("a b c x d",),
            predicted=("a b c y d",),
            score=(4 / 5 * 2 / 4 * 1 / 3 * 0.1 / 2) ** (1 / 4),
            parameters={"smoothing": "floor"},
        ),
        Golden(
            truth=("a b c x d",),
            predicted=("a b c y d",),
            score=(4 / 5 * 3 / 5 * 2 / 4 * 1 / 3) ** (1 / 4),
            parameters={"smoothing": "add-k"},
        ),
        Golden(truth=("Yes, sir",), predicted=("yes, sir",), score=1.0, parameters={"lowercase": True}),
        Golden(truth=("yes, sir",), predicted=("yes , sir",), score=1.0, note="13a splits off punctuation."),
        Golden(truth=("no ||| yes sir",), predicted=("yes sir",), score=1.0, parameters={"references": "|||"}),
    ),
    trial=TRIAL,
    check=too_long,
)
def bleu(
    truth: Array,
    predicted: Array,
    *,
    level: Level = "corpus",
    tokenizer: Annotated[
        Literal["13a", "intl", "zh", "char", "none"],
        Option(
            "sacrebleu's tokenizer: that of mteval-v13a, international, Chinese, characters, or blanks only (none)."
        ),
    ] = "13a",
    lowercase: Lowercase = False,
    smoothing: Annotated[
        Literal["exp", "floor", "add-k", "none"],
        Option("What an order counts of which no n-gram is shared: exp halves (NIST), floor 0.1, add-k 1, none 0."),
    ] = "exp",
    references: References = "",
) -> float:
    """BLEU of generated texts, from 0 to 1."""
    from sacrebleu.metrics.bleu import BLEU

    wanted, found = [split_references(cell, references) for cell in truth], list(predicted)
    if level == "sentence":
        made = BLEU(
            lowercase=lowercase,
            force=True,
            tokenize=tokenizer,
            smooth_method=smoothing,
            smooth_value=_SMOOTH_VALUE.get(smoothing),
            max_ngram_order=ORDER,
            effective_order=True,
        )
        scores: list[float] = []
        for rows in _batches(wanted, found):
            scores += [_sentence(made, texts, one) for texts, one in zip(wanted[rows], found[rows], strict=True)]
            _forget(made)
        return math.fsum(scores) / len(scores)
    made = BLEU(lowercase=lowercase, force=True, tokenize=tokenizer, smooth_method="none", max_ngram_order=ORDER)
    if not any(made.tokenizer(text).split() for texts in wanted for text in texts):
        raise PackError(NO_REFERENCE)
    counts = np.zeros(2 + 2 * ORDER, dtype=np.int64)
    for rows in _batches(wanted, found):
        counts += _corpus_counts(made, wanted[rows], found[rows])
        _forget(made)
    words, true_words, *ngrams = counts.tolist()
    whole = BLEU.compute_bleu(
        ngrams[:ORDER],
        ngrams[ORDER:],
        words,
        true_words,
        smooth_method=smoothing,
        smooth_value=_SMOOTH_VALUE.get(smoothing),
        effective_order=True,
        max_ngram_order=ORDER,
    )
    return float(whole.score) / 100


def _batches(wanted: Sequence[Sequence[str]], predicted: Sequence[str]) -> Iterator[slice]:
    """Slices of rows that are small enough for all n-grams of their references to be held at once."""
    first = characters = 0
    for row, (texts, found) in enumerate(zip(wanted, predicted, strict=True)):
        characters += len(found) + sum(map(len, texts))
        if characters >= _BATCH_CHARACTERS or row + 1 - first >= _BATCH_ROWS:
            yield slice(first, row + 1)
            first, characters = row + 1, 0
    if first < len(predicted):
        yield slice(first, len(predicted))


def _corpus_counts(made: BLEU, references: Sequence[Sequence[str]], found: Sequence[str]) -> list[int]:
    """Words of the predictions, words of the references, shared n-grams of each order, predicted n-grams of each."""
    # sacrebleu takes the first, second, ... reference of all rows; a row that has fewer repeats its first.
    streams = [
        [texts[number] if number < len(texts) else texts[0] for texts in references]
        for number in range(max(map(len, references)))
    ]
    score = made.corpus_score(found, streams)
    return [score.sys_len, score.ref_len, *score.counts, *score.totals]


def _sentence(made: BLEU, references: Sequence[str], found: str) -> float:
    score = made.sentence_score(found, references)
    # Some texts that are not empty have no token, such as "<skipped>", which the tokenizer 13a leaves out.
    return float(score.score) / 100 if score.sys_len else float(not score.ref_len)


def _forget(made: BLEU) -> None:
    """Empty the caches in which sacrebleu's tokenizers keep texts: hidden answers and a submission's long cells."""
    from sacrebleu.tokenizers.tokenizer_re import TokenizerRegexp

    for kind in (type(made.tokenizer), TokenizerRegexp):
        clear = getattr(kind.__call__, "cache_clear", None)
        if clear is not None:
            clear()
