"""No two boxes are the same user, as far as there are users."""

from __future__ import annotations

from openmle_env.sandbox import users


def test_boxes_of_a_process_share_no_user() -> None:
    firsts = [users.first_of_a_box() for _ in range(256)]
    every = {first + number for first in firsts for number in range(users.EACH)}
    assert len(every) == 256 * users.EACH
    assert min(every) >= 0x70000000
    assert max(every) < 1 << 31  # what engines take


def test_where_only_some_users_exist() -> None:
    firsts = [users.first_of_a_box(mapped=65_536) for _ in range(300)]
    assert min(firsts) >= 10_001
    assert max(firsts) + users.EACH <= 65_536


def test_a_namespace_with_hardly_any_users() -> None:
    assert users.first_of_a_box(mapped=10_002) == 10_001
