"""Rows that were read by a schema: what metrics compare."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from openmle_env.types import SubmissionSchema

Value = int | float | str
"""One converted cell: int for ``integer``, float for ``number`` and ``probability``, str for ``label`` and ``text``."""


@dataclass(frozen=True, slots=True)
class Rows:
    """Converted columns, aligned on ids. Truth and prediction hold the same ids in the same order."""

    schema: SubmissionSchema
    """The schema that the columns were read by: label lists and class order come from here, never from the data."""
    ids: Sequence[str]
    """Canonical ids: decimal digits for integer ids, the text without blanks around it otherwise."""
    columns: Mapping[str, Sequence[Value]]
    """Values of each column by name, in the order of ``ids``."""

    def __len__(self) -> int:
        return len(self.ids)

    def take(self, positions: Sequence[int]) -> Rows:
        """The rows at ``positions``, in that order."""
        columns = {name: [values[i] for i in positions] for name, values in self.columns.items()}
        return Rows(self.schema, [self.ids[i] for i in positions], columns)
