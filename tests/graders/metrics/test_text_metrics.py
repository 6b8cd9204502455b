from __future__ import annotations

from collections import Counter
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from openmle_env.errors import PackError
from openmle_env.graders import metrics
from openmle_env.graders.metrics import Golden
from openmle_env.graders.metrics import bleu as bleu_module
from openmle_env.graders.metrics.tokens import MAX_CHARACTERS, answer_words, ascii_words

NAMES = ("jaccard_words", "exact_match", "squad_f1", "rouge_l", "rouge_n", "bleu", "chrf")
WITH_REFERENCES = ("exact_match", "squad_f1", "rouge_l", "rouge_n", "bleu", "chrf")


def scored(name: str, truth: list[str], predicted: list[str], **parameters: object) -> float:
    used, true, found = metrics.get(name).example(
        Golden(truth=truth, predicted=predicted, score=0, parameters=parameters)
    )
    assert not used.problems(found, true)
    return used(true, found)


sentences = st.lists(
    st.sampled_from(["the", "The", "cat", "sat,", "on", "a", "(a", "b.", "1.5", "Hund"]), max_size=9
).map(" ".join)
corpora = st.lists(st.tuples(sentences, sentences), min_size=1, max_size=4)
real = corpora.filter(lambda rows: any(true for true, _ in rows))


@pytest.mark.parametrize("tokenizer", ["13a", "intl", "char", "none"])
@given(rows=real, smoothing=st.sampled_from(["exp", "floor", "add-k", "none"]))
def test_bleu_is_that_of_sacrebleu(tokenizer: str, smoothing: str, rows: list[tuple[str, str]]) -> None:
    from sacrebleu import corpus_bleu

    truth, predicted = [true for true, _ in rows], [found for _, found in rows]
    expected = corpus_bleu(
        predicted, [truth], smooth_method=smoothing, tokenize=tokenizer, use_effective_order=True, force=True
    )
    found = scored("bleu", truth, predicted, tokenizer=tokenizer, smoothing=smoothing)
    assert found == pytest.approx(expected.score / 100, rel=1e-9)


def test_bleu_of_a_corpus_of_sentences_is_that_of_sacrebleus_defaults() -> None:
    from sacrebleu import corpus_bleu

    truth = ["The dog bit the man.", "It was not unexpected.", "The man bit him first, on 5.5."]
    predicted = ["The dog bit the guy.", "It was unexpected.", "The man had bitten him first on 5.5."]
    assert scored("bleu", truth, predicted) == pytest.approx(corpus_bleu(predicted, [truth]).score / 100, rel=1e-12)


@pytest.mark.parametrize("limit", ["_BATCH_ROWS", "_BATCH_CHARACTERS"])
@pytest.mark.parametrize("level", ["corpus", "sentence"])
def test_the_batches_of_bleu_hold_each_row_once(level: str, limit: str, monkeypatch: pytest.MonkeyPatch) -> None:
    truth = [f"row {number} of the whole text" for number in range(23)]
    predicted = [f"row {number} of a text" for number in range(23)]
    expected = scored("bleu", truth, predicted, level=level)
    monkeypatch.setattr(bleu_module, limit, 5 if limit == "_BATCH_ROWS" else 100)
    assert scored("bleu", truth, predicted, level=level) == pytest.approx(expected, rel=1e-12)
    batches = list(bleu_module._batches([[text] for text in truth], predicted))
    assert len(batches) > 3
    assert [row for rows in batches for row in range(23)[rows]] == list(range(23))


def test_sentence_bleu_is_the_mean_of_sentences() -> None:
    from sacrebleu import sentence_bleu

    truth = ["the cat sat on the mat", "yes", "good morning"]
    predicted = ["the cat sat on a mat", "no", "good morning"]
    single = [sentence_bleu(found, [true]).score for true, found in zip(truth, predicted, strict=True)]
    assert single[1:] == [0, pytest.approx(100)]
    assert scored("bleu", truth, predicted, level="sentence") == pytest.approx(sum(single) / 300, rel=1e-12)


@pytest.mark.parametrize("smoothing", ["exp", "floor", "add-k", "none"])
@pytest.mark.parametrize("level", ["corpus", "sentence"])
@pytest.mark.parametrize("words", range(1, 6))
def test_bleu_of_short_texts(words: int, level: str, smoothing: str) -> None:
    # No overlap is 0 and the same text is 1, whatever the length: https://github.com/mjpost/sacrebleu/issues/141
    text = " ".join("abcde"[:words])
    options = {"level": level, "smoothing": smoothing}
    assert scored("bleu", [text], [text], **options) == pytest.approx(1)
    assert scored("bleu", [text], ["x y z"], **options) == 0
    assert scored("bleu", [text], [""], **options) == 0


@given(rows=real, word_order=st.sampled_from([0, 2]))
def test_chrf_is_that_of_sacrebleu(rows: list[tuple[str, str]], word_order: int) -> None:
    from sacrebleu import corpus_chrf, sentence_chrf

    truth, predicted = [true for true, _ in rows], [found for _, found in rows]
    expected = corpus_chrf(predicted, [truth], word_order=word_order).score
    assert scored("chrf", truth, predicted, word_order=word_order) == pytest.approx(expected / 100, rel=1e-9)
    single = [
        sentence_chrf(found, [true], word_order=word_order).score if found.split() or true.split() else 100
        for true, found in rows
    ]
    found = scored("chrf", truth, predicted, word_order=word_order, level="sentence")
    assert found == pytest.approx(sum(single) / len(single) / 100, rel=1e-9)


def test_references_are_those_of_sacrebleu() -> None:
    from sacrebleu import corpus_bleu, corpus_chrf

    first = ["The dog bit the man.", "It was not unexpected."]
    second = ["The dog had bit the man.", "No one was surprised."]
    predicted = ["The dog bit the guy.", "It was unexpected."]
    cells = [f"{a} ||| {b}" for a, b in zip(first, second, strict=True)]
    expected = corpus_bleu(predicted, [first, second], use_effective_order=True).score
    assert scored("bleu", cells, predicted, references="|||") == pytest.approx(expected / 100, rel=1e-12)
    expected = corpus_chrf(predicted, [first, second]).score
    assert scored("chrf", cells, predicted, references="|||") == pytest.approx(expected / 100, rel=1e-12)
    # Rows of different numbers of references: the missing one changes nothing.
    cells[1] = first[1]
    expected = corpus_bleu(predicted, [first, [second[0], first[1]]], use_effective_order=True).score
    assert scored("bleu", cells, predicted, references="|||") == pytest.approx(expected / 100, rel=1e-12)


@pytest.mark.parametrize("name", WITH_REFERENCES)
def test_the_best_reference_counts(name: str) -> None:
    assert scored(name, ["a dog ||| the cat sat ||| "], ["the cat sat"], references="|||") == pytest.approx(1)
    assert scored(name, ["a dog ||| the cat sat"], ["the cat sat"]) < 1


def test_no_text_stays_in_the_caches_of_sacrebleu() -> None:
    from sacrebleu.tokenizers.tokenizer_13a import Tokenizer13a
    from sacrebleu.tokenizers.tokenizer_re import TokenizerRegexp

    scored("bleu", ["the hidden answer"], ["the guess"])
    for kind in (Tokenizer13a, TokenizerRegexp):
        assert kind.__call__.cache_info().currsize == 0


@pytest.mark.parametrize("name", ["bleu", "chrf"])
def test_a_corpus_without_a_reference_is_a_fault_of_the_task(name: str) -> None:
    with pytest.raises(PackError, match="references are empty"):
        scored(name, ["", " "], ["a", ""])
    assert scored(name, ["", ""], ["a", ""], level="sentence") == 0.5


def longest_common(first: list[str], second: list[str]) -> int:
    """The longest common subsequence by the textbook's table."""
    row = [0] * (len(second) + 1)
    for left in first:
        before = 0
        for j, right in enumerate(second, start=1):
            before, row[j] = row[j], before + 1 if left == right else max(row[j], row[j - 1])
    return row[-1]


@given(true=sentences, found=sentences)
def test_rouge_l_by_the_definition(true: str, found: str) -> None:
    first, second = ascii_words(true), ascii_words(found)
    total = len(first) + len(second)  # 0 only where both texts are empty: each of the words here has a letter or digit
    expected = 2 * longest_common(first, second) / total if total else 1.0
    assert scored("rouge_l", [true], [found]) == pytest.approx(expected)


@given(true=sentences, found=sentences)
def test_rouge_2_by_the_definition(true: str, found: str) -> None:
    first, second = ascii_words(true), ascii_words(found)
    if min(len(first), len(second)) < 2:
        assert scored("rouge2", [true], [found]) == float(first == second)
        return
    left, right = Counter(pairwise(first)), Counter(pairwise(second))
    precision = (left & right).total() / right.total()
    recall = (left & right).total() / left.total()
    expected = 2 * precision * recall / (precision + recall) if precision else 0.0
    assert scored("rouge2", [true], [found]) == pytest.approx(expected)


@pytest.mark.parametrize("name", NAMES)
@given(rows=real)
def test_the_same_texts_are_1_and_nothing_is_outside_of_0_to_1(name: str, rows: list[tuple[str, str]]) -> None:
    truth, predicted = [true for true, _ in rows], [found for _, found in rows]
    assert scored(name, truth, truth) == pytest.approx(1)
    assert 0 <= scored(name, truth, predicted) <= 1


@pytest.mark.parametrize("name", NAMES)
def test_cells_that_are_too_long_are_refused(name: str) -> None:
    used, true, found = metrics.get(name).example(
        Golden(truth=["a", "a"], predicted=["a " * (MAX_CHARACTERS // 2), "a" * (MAX_CHARACTERS + 1)], score=0)
    )
    (problem,) = used.problems(found, true)
    assert problem.count == 1
    assert "id '1': 100,001 characters" in problem.message


def test_words_of_answers() -> None:
    assert answer_words("  An apple, the U.S.A. & theatre ") == ["apple", "usa", "theatre"]
    assert answer_words("The") == []


def test_words_of_other_scripts_need_the_parameter() -> None:
    assert ascii_words("кот 5") == ["5"]
    assert scored("rouge_l", ["кот спит"], ["пёс ест"], words="blanks") == 0


@pytest.mark.parametrize("name", ["rouge_l", "rouge1", "rouge2"])
def test_texts_without_a_word_are_not_all_the_same(name: str) -> None:
    assert scored(name, ["кот спит", "a cat"], ["пёс ест", "a cat"]) == 0.5
    assert scored(name, ["кот спит", "a cat"], ["Кот  спит", "a cat"]) == 1
    assert scored(name, ["?!", "a cat"], ["", "a cat"]) == 0.5
    assert scored(name, ["..."], ["..."]) == 1
    with pytest.raises(PackError, match="set words=blanks"):
        scored(name, ["кот спит", ""], ["кот спит", "a"])


def test_texts_without_a_token_have_no_bleu() -> None:
    # The tokenizer 13a leaves this word out, so that nothing remains of either text.
    assert scored("bleu", ["<skipped>", "a b"], ["<skipped>", "a b"], level="sentence") == pytest.approx(1)
    assert scored("bleu", ["<skipped>"], ["a"], level="sentence") == 0
    with pytest.raises(PackError, match="references are empty"):
        scored("bleu", ["<skipped>"], ["<skipped>"])
