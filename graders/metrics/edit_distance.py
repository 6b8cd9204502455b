"""Metrics of the least number of insertions, deletions and replacements that turn one sequence into another."""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING, Annotated, Literal, TypeAlias

from openmle_env.errors import PackError
from openmle_env.graders.echo import show
from openmle_env.graders.metrics.examples import Golden, Trial
from openmle_env.graders.metrics.parameters import Option
from openmle_env.graders.metrics.registry import metric
from openmle_env.graders.metrics.tokens import encode, split_items, too_long
from openmle_env.graders.rows import Array

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

Unit: TypeAlias = Annotated[
    Literal["characters", "words", "integers"],
    Option(
        "What is inserted, deleted or replaced: characters (Unicode code points), words, or whole numbers, which are "
        "compared as numbers and refused where they are none."
    ),
]
Separator: TypeAlias = Annotated[str, Option("What stands between words or numbers; blanks, if empty.")]
Lowercase: TypeAlias = Annotated[bool, Option("Whether both texts are put into lower case first.")]

_INTEGER = re.compile(r"[+-]?[0-9]{1,40}")
_LEVENSHTEIN = "the Levenshtein distance: the least number of insertions, deletions and replacements of one unit"
_TEXTS = ("the cat", "a dog", "birds")


def _form(predicted: Array, *, unit: str = "", separator: str = "") -> Iterator[tuple[int, str]]:
    yield from too_long(predicted)
    if unit != "integers":
        return
    for position, cell in enumerate(predicted):
        odd = next((item for item in split_items(cell, separator) if not _INTEGER.fullmatch(item)), None)
        if odd is not None:
            yield position, f"{show(odd)} is no whole number of at most 40 digits"


@metric(
    higher_is_better=False,
    range=(0.0, math.inf),
    kinds=("text",),
    truth="text",
    source=f"Mean over rows of {_LEVENSHTEIN}.",
    degenerate="Two empty texts have distance 0; an empty one and another have the length of the other.",
    golden=(
        Golden(truth=("kitten", "ab"), predicted=("sitting", "ab"), score=1.5, note="3 and 0."),
        Golden(truth=("", "abc", "a"), predicted=("ab", "", "A"), score=2.0, note="2, 3 and 1."),
        Golden(truth=("the cat sat",), predicted=("the sat",), score=1.0, parameters={"unit": "words"}),
        Golden(truth=("2 5 9",), predicted=("02  9",), score=1.0, parameters={"unit": "integers"}),
        Golden(
            truth=("new york|rome",), predicted=("rome",), score=1.0, parameters={"unit": "words", "separator": "|"}
        ),
        Golden(truth=("Cat",), predicted=("cat",), score=0.0, parameters={"lowercase": True}),
    ),
    trial=Trial(truth=_TEXTS, perfect=_TEXTS, noisy=("the cat", "a dog", "bird"), constant=("the cat",) * 3),
    aliases={"levenshtein_mean": {}, "edit_distance": {}, "mean_levenshtein_distance": {}},
    check=_form,
)
def levenshtein(
    truth: Array,
    predicted: Array,
    *,
    unit: Unit = "characters",
    separator: Separator = "",
    lowercase: Lowercase = False,
) -> float:
    """The mean edit distance of texts."""
    distances = [distance for distance, _, _ in _distances(truth, predicted, unit, separator, lowercase=lowercase)]
    return sum(distances) / len(distances)


@metric(
    higher_is_better=False,
    range=(0.0, math.inf),
    kinds=("text",),
    truth="text",
    source=f"Sum over rows of {_LEVENSHTEIN}, divided by the sum of the lengths of the true texts (as in the "
    "Multi-modal Gesture Recognition challenge on Kaggle); or, by=longer, the mean over rows of that distance "
    "divided by the length of the longer text, at most 1.",
    degenerate="by=truth: undefined where all true texts are empty; above 1 where predictions are too long. by=longer: "
    "two empty texts have distance 0.",
    golden=(
        Golden(
            truth=("2 5 9", "20 1"),
            predicted=("2 9", "1 20"),
            score=0.6,
            parameters={"unit": "words"},
            note="1 and 2 edits of 5 numbers.",
        ),
        Golden(truth=("kitten", ""), predicted=("sitting", "a"), score=4 / 6),
        Golden(truth=("ab",), predicted=("cdefg",), score=2.5),
        Golden(
            truth=("kitten", "", ""),
            predicted=("sitting", "", "a"),
            score=(3 / 7 + 0 + 1) / 3,
            parameters={"by": "longer"},
        ),
    ),
    trial=Trial(truth=_TEXTS, perfect=_TEXTS, noisy=("the cat", "a dog", "bird"), constant=("the cat",) * 3),
    aliases={"normalized_levenshtein": {}},
    check=_form,
)
def normalised_levenshtein(
    truth: Array,
    predicted: Array,
    *,
    unit: Unit = "characters",
    separator: Separator = "",
    lowercase: Lowercase = False,
    by: Annotated[
        Literal["truth", "longer"],
        Option("Divide all edits by the length of all true texts, or those of each row by its longer text's length."),
    ] = "truth",
) -> float:
    """The edit distance of texts in relation to their length."""
    if by == "truth":
        return _rate(truth, predicted, unit, separator, lowercase=lowercase)
    rates = [
        distance / max(true, found, 1)
        for distance, true, found in _distances(truth, predicted, unit, separator, lowercase=lowercase)
    ]
    return math.fsum(rates) / len(rates)


@metric(
    higher_is_better=False,
    range=(0.0, math.inf),
    kinds=("text",),
    truth="text",
    source="(Insertions + deletions + replacements of words over all rows) / (words of the truth): the word error rate "
    "of speech recognition, of the whole corpus; the phoneme error rate where a text is phonemes between blanks.",
    degenerate="Undefined where the truth has no word. An empty prediction counts all words as deleted; one that is "
    "too long can score above 1.",
    golden=(
        Golden(truth=("the cat sat", "hello"), predicted=("the cat sat", "hallo"), score=0.25),
        Golden(truth=("the cat sat",), predicted=("",), score=1.0),
        Golden(truth=("yes", ""), predicted=("yes oh yes", "no"), score=3.0, note="3 insertions, 1 true word."),
        Golden(truth=("The cat",), predicted=("the  CAT ",), score=0.0, parameters={"lowercase": True}),
        Golden(truth=("HH AH L OW",), predicted=("HH EH L OW",), score=0.25, note="Phonemes."),
    ),
    trial=Trial(truth=_TEXTS, perfect=_TEXTS, noisy=("the cat", "a dog", "bird"), constant=("the cat",) * 3),
    aliases={"word_error_rate": {}, "per": {}, "phoneme_error_rate": {}},
    check=_form,
)
def wer(truth: Array, predicted: Array, *, separator: Separator = "", lowercase: Lowercase = False) -> float:
    """The word error rate of transcripts, over the whole corpus."""
    return _rate(truth, predicted, "words", separator, lowercase=lowercase)


@metric(
    higher_is_better=False,
    range=(0.0, math.inf),
    kinds=("text",),
    truth="text",
    source="(Insertions + deletions + replacements of characters over all rows) / (characters of the truth), over the "
    "whole corpus. A character is a Unicode code point, blanks included; nothing is normalised.",
    degenerate="Undefined where the truth has no character. An empty prediction counts all characters as deleted; one "
    "that is too long can score above 1.",
    golden=(
        Golden(truth=("kitten", "ab"), predicted=("sitting", "ab"), score=3 / 8),
        Golden(truth=("abc",), predicted=("",), score=1.0),
        Golden(truth=("a b", ""), predicted=("ab", "xx"), score=1.0, note="1 + 2 edits of 3 characters."),
        Golden(truth=("Ab",), predicted=("aB",), score=0.0, parameters={"lowercase": True}),
    ),
    trial=Trial(truth=_TEXTS, perfect=_TEXTS, noisy=("the cat", "a dog", "bird"), constant=("the cat",) * 3),
    aliases={"character_error_rate": {}},
    check=_form,
)
def cer(truth: Array, predicted: Array, *, lowercase: Lowercase = False) -> float:
    """The character error rate of transcripts, over the whole corpus."""
    return _rate(truth, predicted, "characters", "", lowercase=lowercase)


def _rate(truth: Array, predicted: Array, unit: str, separator: str, *, lowercase: bool) -> float:
    edits = length = 0
    for distance, true, _ in _distances(truth, predicted, unit, separator, lowercase=lowercase):
        edits += distance
        length += true
    if not length:
        raise PackError(f"The true texts hold no {unit}, by whose number the edits are divided.")
    return edits / length


def _distances(
    truth: Array, predicted: Array, unit: str, separator: str, *, lowercase: bool
) -> Iterator[tuple[int, int, int]]:
    """The distance, the true and the predicted length of each row; n * m / 64 steps each (bit-parallel, Myers 1999)."""
    from rapidfuzz.distance import Levenshtein

    for true, found in zip(truth, predicted, strict=True):
        if lowercase:
            true, found = true.lower(), found.lower()  # noqa: PLW2901  the rest looks at nothing else
        if unit == "characters":
            yield Levenshtein.distance(true, found), len(true), len(found)
        else:
            first, second = encode(_units(true, unit, separator), _units(found, unit, separator))
            yield Levenshtein.distance(first, second), len(first), len(second)


def _units(cell: str, unit: str, separator: str) -> Sequence[str] | Sequence[int]:
    items = split_items(cell, separator)
    if unit == "words":
        return items
    if not all(_INTEGER.fullmatch(item) for item in items):
        raise PackError("A sequence holds something that is no whole number.")
    return [int(item) for item in items]
