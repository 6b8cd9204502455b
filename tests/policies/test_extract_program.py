"""Programs out of replies: the accidents that people reported of other projects, and what is right for each."""

from __future__ import annotations

import textwrap

import pytest

from openmle_env.policies.extraction import NoProgram, Program, extract_program
from openmle_env.policies.objects import MAX_CHARACTERS
from openmle_env.policies.protocol import Reply
from openmle_env.policies.thinking import split_thinking

SCRIPT = 'import pandas as pd\n\ntable = pd.read_csv("/data/test.csv")\ntable.to_csv("/output/submission.csv")\n'


def fenced(source: str, language: str = "python", fence: str = "```") -> str:
    return f"{fence}{language}\n{source}{fence}\n"


def source_of(reply: Reply | str, **options: object) -> str:
    found = extract_program(reply, **options)  # type: ignore[arg-type]
    assert isinstance(found, Program), found
    return found.source


def refusal(reply: Reply | str, **options: object) -> NoProgram:
    found = extract_program(reply, **options)  # type: ignore[arg-type]
    assert isinstance(found, NoProgram), found
    return found


# --- fences -----------------------------------------------------------------------------------------------------------

SHOWS_A_FENCE = 'def run():\n    """Like this:\n\n{example}\n    """\n\n\nrun()\n'


@pytest.mark.parametrize("indent", ["", "    "])
@pytest.mark.parametrize("fence", ["```", "~~~", "````"])
def test_a_fence_inside_the_program_does_not_end_it(indent: str, fence: str) -> None:
    example = textwrap.indent("```sh\npython program.py\n```", indent)
    source = SHOWS_A_FENCE.format(example=example)
    assert source_of(f"Here:\n\n{fenced(source, fence=fence)}\nThat is all.") == source


def test_a_block_in_a_list_loses_the_indent_of_its_fence() -> None:
    assert source_of("1. Do this:\n   ```python\n   if True:\n       print(1)\n   ```\n") == "if True:\n    print(1)\n"
    assert source_of("- ```{python}\n  print(1)\n  ```\n") == "print(1)\n"


def test_a_block_of_markdown_is_looked_into() -> None:
    assert source_of(f"````markdown\n# Answer\n\n{fenced(SCRIPT)}````\n") == SCRIPT


def test_a_fence_after_words_opens_a_block_of_python() -> None:
    assert source_of(f"Here it is: {fenced(SCRIPT)}") == SCRIPT


def test_a_missing_closing_fence_is_forgiven_unless_the_reply_was_cut() -> None:
    text = f"Here:\n```python\n{SCRIPT}"
    found = extract_program(Reply(text=text, finish="stop"))
    assert isinstance(found, Program)
    assert found.source == SCRIPT
    assert found.notes == ("the last block has no closing fence",)
    assert refusal(Reply(text=text, finish="length")).reason == "truncated"


def test_a_fence_at_the_end_of_the_last_line_is_no_part_of_the_program() -> None:
    assert source_of("```python\nprint(1)```") == "print(1)\n"


@pytest.mark.parametrize("ending", ["\r\n", "\r"])
def test_line_ends_of_other_systems_change_nothing(ending: str) -> None:
    text = f"First\n```sh\nls\n```\n{fenced(SCRIPT)}done"
    assert source_of(text.replace("\n", ending)) == SCRIPT
    assert source_of(text.replace("\n", ending, 4)) == SCRIPT


# --- which block ------------------------------------------------------------------------------------------------------

HELPER = "def double(number):\n    return 2 * number\n"
WHOLE = "def double(number):\n    return 2 * number\n\n\nprint(double(1))\n"
ALONE = "print(1)\n"


def test_the_whole_script_wins_over_helpers_and_shell_lines() -> None:
    found = extract_program(f"{fenced('pip install x' + chr(10), 'bash')}{fenced(HELPER)}Together:\n{fenced(WHOLE)}")
    assert isinstance(found, Program)
    assert found.source == WHOLE
    assert found.notes == ("blocks that the program does not need, left out: 1",)


def test_parts_that_need_one_another_are_joined() -> None:
    found = extract_program(f"{fenced(HELPER)}and\n\n{fenced('print(double(1))' + chr(10))}")
    assert isinstance(found, Program)
    assert found.source == f"{HELPER}\n\nprint(double(1))\n"
    assert found.notes == ("2 blocks that need one another were joined",)


def test_two_alternatives_are_not_chosen_from() -> None:
    two = f"{fenced(SCRIPT)}or\n{fenced(ALONE)}"
    assert refusal(two).reason == "ambiguous"
    assert source_of(two, mention="submission.csv") == SCRIPT
    assert source_of(f"{fenced(SCRIPT)}again\n{fenced(SCRIPT)}") == SCRIPT


@pytest.mark.parametrize(
    "text",
    [
        "",
        "I cannot help with that.",
        "Sorry",
        "Answer: 5",
        fenced("pip install lightgbm\n", "bash"),
        fenced("!pip install lightgbm\n"),
        fenced('{"score": 1}\n', "json"),
        fenced('{"score": 1}\n', ""),
        fenced("accuracy: 0.9\n", ""),
        "Use `pd.read_csv` and ``` somewhere.",
    ],
)
def test_prose_shell_lines_and_data_are_no_program(text: str) -> None:
    assert refusal(text).reason == "none"


def test_code_without_a_fence_and_blocks_without_a_language_count_if_they_compile() -> None:
    assert source_of("a=1\n") == "a=1\n"
    assert source_of("```\nb=2\n```") == "b=2\n"
    assert refusal(Reply(text="a = 1\nb =", finish="length")).reason == "truncated"
    assert refusal(Reply(text="a = 1\n", finish="length")).reason == "truncated"


def test_half_a_program_is_never_run() -> None:
    found = refusal(f"{fenced(SCRIPT)}then\n{fenced('for row in table' + chr(10) + '    print(row)' + chr(10))}")
    assert (found.reason, found.line) == ("invalid", 7)
    assert found.source.splitlines()[6] == "for row in table"
    assert found.message == "The code in block 2 does not compile: expected ':' (line 7)."


def test_a_broken_snippet_beside_the_one_whole_program_does_no_harm() -> None:
    text = f"This was wrong:\n{fenced('    table.merge(' + chr(10))}Now:\n{fenced(SCRIPT)}"
    assert refusal(text).reason == "invalid"
    assert source_of(text, mention="submission.csv") == SCRIPT


def test_parts_that_compile_only_alone_are_refused() -> None:
    found = refusal(f"{fenced(HELPER)}{fenced('from __future__ import annotations' + chr(10) + 'double(1)' + chr(10))}")
    assert found.reason == "invalid"
    assert "__future__" in found.message


# --- thoughts ---------------------------------------------------------------------------------------------------------

DRAFT = "print('draft')\n"


@pytest.mark.parametrize(
    "text",
    [
        f"<think>\n{fenced(DRAFT)}no\n</think>\n{fenced(SCRIPT)}",
        f"let me try\n{fenced(DRAFT)}</think>\n{fenced(SCRIPT)}",
        f"try {fenced(DRAFT)}</think> and {fenced(DRAFT)}</think>\n\n{fenced(SCRIPT)}",
        f"Well.\n<thinking>{fenced(DRAFT)}</thinking>\n{fenced(SCRIPT)}",
        f"[THINK]{fenced(DRAFT)}[/THINK]{fenced(SCRIPT)}",
    ],
)
def test_drafts_in_thoughts_are_no_code(text: str) -> None:
    found = extract_program(text)
    assert isinstance(found, Program)
    assert (found.source, found.origin) == (SCRIPT, "answer")


def test_the_last_draft_is_taken_only_where_that_is_allowed_and_the_answer_has_no_code() -> None:
    reply = Reply(text="Done.", reasoning=f"{fenced(ALONE)}better\n{fenced(DRAFT)}")
    assert refusal(reply).reason == "none"
    found = extract_program(reply, drafts=True)
    assert isinstance(found, Program)
    assert (found.source, found.origin) == (DRAFT, "reasoning")
    assert source_of(Reply(text=fenced(SCRIPT), reasoning=fenced(DRAFT)), drafts=True) == SCRIPT


def test_a_thought_that_never_ends_is_no_answer() -> None:
    text = f"<think>\n{fenced(SCRIPT)}"
    assert refusal(Reply(text=text, finish="length")).reason == "truncated"
    assert refusal(Reply(text=text, finish="stop")).reason == "none"


def test_a_tag_in_a_string_of_the_program_is_none() -> None:
    source = 'print("x".split("</think>"))\n'
    assert source_of(fenced(source)) == source
    assert not split_thinking(fenced(source)).reasoning


def test_an_answer_that_was_cut_before_its_program_is_truncated_and_one_that_was_filtered_is_refused() -> None:
    assert refusal(Reply(text="", finish="length")).reason == "truncated"
    assert refusal(Reply(text="First, I", finish="length")).reason == "truncated"
    assert refusal(Reply(text="", finish="refused")).reason == "refused"
    assert source_of(Reply(text=f"{fenced(SCRIPT)}This prog", finish="length")) == SCRIPT


# --- repairs ----------------------------------------------------------------------------------------------------------


def test_typographic_characters_outside_of_strings_become_plain() -> None:
    found = extract_program(fenced("if True:\n\u00a0\u00a0\u00a0\u00a0print(\u201cit\u2019s\u201d, 3 \u2013 1)\n"))
    assert isinstance(found, Program)
    assert found.source == 'if True:\n    print("it\u2019s", 3 - 1)\n'
    assert found.notes == ("typographic characters outside of strings became plain ones",)


def test_strings_keep_their_typographic_characters() -> None:
    legitimate = 'text = "\u201cquoted\u201d \u2013 \u00a0"  # \u2013\n'
    assert source_of(fenced(legitimate)) == legitimate
    assert source_of(fenced(f"{legitimate}print(\u2018a\u2019)\n")) == f"{legitimate}print('a')\n"


def test_lines_for_a_notebook_become_comments_and_a_shared_indent_goes() -> None:
    assert source_of(fenced("!pip install x\nprint(1)\n")) == "# !pip install x\nprint(1)\n"
    assert source_of(fenced("    print(1)\n    print(2)\n")) == "print(1)\nprint(2)\n"


# --- hostile replies --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "source", ["(" * 5000, "-" * 100_000 + "1", "a" + ".a" * 50_000, "x = 1\0\n", "\ud800 = 1\n"], ids=range(5)
)
def test_source_that_hurts_the_compiler_is_invalid(source: str) -> None:
    assert refusal(fenced(f"{source}\n")).reason == "invalid"


@pytest.mark.timeout(60)
@pytest.mark.parametrize(
    "text",
    ["```python\n(\n" * 5000, "```\n" * 50_000, "</think>" * 50_000, "`" * 200_000, "x" * (MAX_CHARACTERS + 1)],
    ids=range(5),
)
def test_a_reply_full_of_marks_ends_soon_and_is_no_program(text: str) -> None:
    assert isinstance(extract_program(text), NoProgram)
