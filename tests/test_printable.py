from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from openmle_env.printable import printable

ANYTHING = st.text(st.characters(codec=None))


@given(ANYTHING)
def test_what_is_shown_can_be_written_and_steers_nothing(text: str) -> None:
    shown = printable(text)
    assert not [char for char in shown if (ord(char) < 0x20 or 0x7F <= ord(char) < 0xA0) and char not in "\n\t"]
    assert not set(shown) & set("\u2028\u2029\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")
    shown.encode()


@given(ANYTHING)
def test_what_was_shown_before_stays(text: str) -> None:
    assert printable(printable(text)) == printable(text)


@given(st.text(st.characters(codec="utf-8", exclude_categories=("Cc", "Cf", "Zl", "Zp"))))
def test_text_is_left_alone(text: str) -> None:
    assert printable(text) == text
