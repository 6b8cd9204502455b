"""The file that says where models are, which keys they take and what they cost: YAML, named by ``OPENMLE_MODELS``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from openmle_env.errors import UsageError
from openmle_env.policies.ledger import Price

if TYPE_CHECKING:
    from pathlib import Path

Dollars = Annotated[float, Field(strict=True, ge=0, lt=1e6)]


class Model(BaseModel):
    """What is said of one model."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)

    base_url: Annotated[str, Field(pattern=r"^https?://[^\s/]+")] | None = None
    """Address of a server that speaks the API of OpenAI, up to ``/v1``; None for the provider's own."""
    key_env: Annotated[str, Field(pattern=r"^[A-Za-z_][A-Za-z0-9_]*$")] | None = None
    """Name of the environment variable that holds the key, never the key itself."""
    input_price: Dollars | None = None
    """US dollars for a million tokens of messages; 0 is free, and left out is unknown."""
    output_price: Dollars | None = None
    """US dollars for a million tokens of replies."""
    parallel: Annotated[int, Field(strict=True, ge=1, le=1000)] | None = None
    """Requests at the same time, for all models of the same key and server; 8 if left out."""

    @model_validator(mode="after")
    def _has_both_prices(self) -> Model:
        if (self.input_price is None) != (self.output_price is None):
            raise ValueError("input_price and output_price belong together; say 0 for what is free")
        return self

    @property
    def price(self) -> Price | None:
        """The two prices."""
        if self.input_price is None or self.output_price is None:
            return None
        return Price(input=self.input_price, output=self.output_price)


class _File(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)

    models: dict[str, Model] = {}


def read(path: Path) -> dict[str, Model]:
    """What the file says of each model, by its name.

    Raises:
        UsageError: It cannot be read, or says something that means nothing.
    """
    try:
        said = yaml.safe_load(path.read_text(encoding="utf-8"))
        return dict(_File.model_validate({} if said is None else said).models)
    except (OSError, UnicodeDecodeError) as error:
        reason = (error.strerror if isinstance(error, OSError) else None) or str(error)
        raise UsageError(
            f"The file of models {str(path)!r} cannot be read: {reason}. Correct OPENMLE_MODELS."
        ) from None
    except (yaml.YAMLError, RecursionError) as error:
        problem = getattr(error, "problem", None) or "it cannot be parsed"
        mark = getattr(error, "problem_mark", None)
        line = f", line {mark.line + 1}" if mark else ""
        raise UsageError(f"The file of models {str(path)!r}{line} is no YAML: {problem}.") from None
    except ValidationError as error:  # without the value: somebody may have written the key itself
        faults = "; ".join(
            f"{'.'.join(map(str, one['loc'])) or 'it'}: {one['msg'].removeprefix('Value error, ')}"
            for one in error.errors(include_url=False, include_input=False)
        )
        raise UsageError(f"The file of models {str(path)!r} is wrong: {faults}.") from None
