from __future__ import annotations

import numpy as np

from openmle_env.graders.rows import Rows
from openmle_env.types import Column


def test_rows_show_how_they_were_read_and_none_of_their_values() -> None:
    label = Column(name="fruit", kind="label", labels=("secret", "pear"))
    rows = Rows(
        Column(name="id", kind="integer"),
        np.arange(7_777, 9_777),
        {"fruit": label},
        {"fruit": np.zeros(2_000, dtype=np.int32)},
    )
    assert repr(rows) == "Rows(2,000; id: integer, fruit: label)"
    assert repr(rows.take([0])) == "Rows(1; id: integer, fruit: label)"
