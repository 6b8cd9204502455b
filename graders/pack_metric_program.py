"""The program that runs a pack's ``metric.py`` inside a sandbox. Never imported: it is sent there as text.

It reads ``request.json`` and ``metric.py`` in ``/data`` and, to score, ``truth.csv`` and ``prediction.csv``, and writes
``/output/result.json``. Whatever the pack's code prints is not read.

Two conventions are read: a class that is made without arguments and derives from nothing or from a base in its own file
(OpenMLE), and one that derives from ``CompetitionMetrics``, imported from ``mledojo.metrics.base`` (MLE-Dojo). That
package is not in the box: a small stand-in of ours takes its place.

A failure is caught whatever its type, since it is the pack's own code that raises, and becomes a stage in the result.
"""

from __future__ import annotations

import importlib.util
import inspect
import json
import math
import os
import sys
import traceback
from numbers import Number
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pandas as pd

DATA = Path(os.environ.get("DATA_DIR", "/data"))
OUTPUT = Path(os.environ.get("OUTPUT_DIR", "/output"))

# Exceptions that say that the metric's code is broken, whatever the submission holds.
BROKEN_CODE = (ImportError, NameError, SyntaxError, NotImplementedError, MemoryError)


class Stop(Exception):  # noqa: N818  ends this program with a result, right or wrong
    """Ends the program with the stage at which the metric failed; its cause is what the pack's code raised."""


def main() -> None:
    """Write what came of the request, always."""
    try:
        result = answer()
    except Stop as stop:
        cause = stop.__cause__ or stop
        trace = "".join(traceback.format_exception(cause))[-8000:]
        result = {"failed": str(stop.args[0]), "error": type(cause).__name__, "trace": trace}
    (OUTPUT / "result.json").write_text(json.dumps(result, allow_nan=False), encoding="utf-8")


def answer() -> dict[str, Any]:
    """Load the metric and, where asked, validate and score."""
    request = json.loads((DATA / "request.json").read_text(encoding="utf-8"))
    warnings: list[str] = []  # codes, to which the grader has words
    stand_in_for_mledojo()
    try:
        metric = find_class(load_module(DATA / "metric.py"), warnings)()
        higher_is_better = metric.higher_is_better
    except Exception as error:
        raise Stop("load") from error
    if higher_is_better is not True and higher_is_better is not False:
        higher_is_better = _plain_bool(higher_is_better)
    result: dict[str, Any] = {"higher_is_better": higher_is_better, "warnings": warnings}
    if not request["score"]:
        return result
    truth = read(DATA / "truth.csv", request["truth_types"])
    prediction = read(DATA / "prediction.csv", request["prediction_types"])
    try:
        # Copies: a metric that sorts or fills in place must not change what is scored.
        verdict = metric.validate_submission(prediction.copy(), truth.copy())
    except BROKEN_CODE as error:
        raise Stop("evaluate") from error
    except Exception as error:
        raise Stop("validate") from error
    if is_refusal(verdict):
        raise Stop("validate") from ValueError(f"validate_submission returned {verdict!r}")
    try:
        parts = (frame.iloc[request["chosen"]].reset_index(drop=True) for frame in (truth, prediction))
        score = _plain_number(metric.evaluate(**dict(zip(("y_true", "y_pred"), parts, strict=True))))
    except Exception as error:
        raise Stop("evaluate") from error
    if not math.isfinite(score):
        raise Stop("not_finite") from ValueError(f"evaluate returned {score}")
    return {**result, "score": score}


def _plain_bool(value: object) -> bool:
    """A bool of numpy's; anything else is refused."""
    if type(value).__name__ not in {"bool_", "bool"}:
        raise Stop("load") from TypeError(f"higher_is_better should be True or False; it is {value!r}")
    return bool(value)


def _plain_number(value: Any) -> float:
    """A number of Python's or a library's; a text that spells one, or a truth value, is refused."""
    value = value.item() if hasattr(value, "item") else value
    if isinstance(value, bool) or not isinstance(value, Number):
        raise TypeError(f"evaluate should return a number; it returned {value!r}")
    return float(value)  # type: ignore[arg-type]  # raises for the complex ones


def is_refusal(verdict: object) -> bool:
    """Whether what ``validate_submission`` returned says no: False, or a pair that begins with it; a text is a yes."""
    first = verdict[0] if isinstance(verdict, tuple) and verdict else verdict
    return type(first).__name__ in {"bool", "bool_"} and not first


def stand_in_for_mledojo() -> None:
    """Offer what MLE-Dojo's metrics import of that package: the base of their classes, and the exception they raise."""

    class CompetitionMetrics:
        """Base of a metric; the direction is what the constructor is given."""

        def __init__(self, higher_is_better: bool = True) -> None:
            self.higher_is_better = higher_is_better

    class InvalidSubmissionError(Exception):
        """Raised for a submission that cannot be scored."""

    base = ModuleType("mledojo.metrics.base")
    for value in (CompetitionMetrics, InvalidSubmissionError):
        value.__module__ = base.__name__
        setattr(base, value.__name__, value)
    package, metrics = ModuleType("mledojo"), ModuleType("mledojo.metrics")
    for module in (package, metrics):
        module.__path__ = []  # what makes a package of a module
    package.metrics, metrics.base = metrics, base  # type: ignore[attr-defined]  # as importing them would do
    sys.modules |= {module.__name__: module for module in (package, metrics, base)}


def load_module(path: Path) -> ModuleType:
    """Import the pack's file under a name that no library has."""
    spec = importlib.util.spec_from_file_location("openmle_pack_metric", path)
    if spec is None or spec.loader is None:
        raise ImportError(str(path))
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def find_class(module: ModuleType, warnings: list[str]) -> type[Any]:
    """The metric: the class whose name ends in ``Metrics``, or any one with both methods."""
    classes = [value for _, value in inspect.getmembers(module, inspect.isclass) if value.__module__ == module.__name__]
    usable = [
        value
        for value in classes
        if callable(getattr(value, "evaluate", None))
        and callable(getattr(value, "validate_submission", None))
        and not inspect.isabstract(value)
    ]
    usable = [value for value in usable if not any(other is not value and issubclass(other, value) for other in usable)]
    named = [value for value in usable if value.__name__.endswith("Metrics")]
    if not named and usable:
        warnings.append("class_name")
    found = named or usable
    if len(found) > 1:
        names = ", ".join(value.__name__ for value in found)
        raise LookupError(f"metric.py must have one class with evaluate and validate_submission; it has {names}")
    if not found:
        raise LookupError(
            f"metric.py must have a class with evaluate and validate_submission. {nearly(module, classes)}"
        )
    return found[0]


def nearly(module: ModuleType, classes: list[type[Any]]) -> str:
    """What a file without a usable class has instead, and what to do."""
    methods = ("evaluate", "validate_submission")
    for value in classes:
        lacks = [name for name in methods if not callable(getattr(value, name, None))]
        if len(lacks) == 1:
            return f"Its class {value.__name__} lacks {lacks[0]}: add it."
        if not lacks:  # an abstract class, or it would have been taken
            unmade = ", ".join(sorted(value.__abstractmethods__))
            return f"Its class {value.__name__} is abstract: write {unmade}."
    score = getattr(module, "score", None)
    if inspect.isfunction(score) and {"solution", "submission"} <= set(inspect.signature(score).parameters):
        return (
            "It has a function score(solution, submission, ...), as metrics of Kaggle do: call it from the method "
            "evaluate(self, y_true, y_pred) of a class, with y_true as the solution and y_pred as the submission, and "
            "give that class higher_is_better and validate_submission, too."
        )
    return f"It has {', '.join(value.__name__ for value in classes) or 'no class'}."


def read(path: Path, types: dict[str, str]) -> pd.DataFrame:
    """A data frame; columns of the schema have its types, the others those that pandas sees in them."""
    import pandas as pd  # only needed to score

    names = pd.read_csv(path, nrows=0).columns
    blank = {name: [""] for name in names if types.get(name) not in {"str", "bool"}}
    return pd.read_csv(path, dtype=types, keep_default_na=False, na_values=blank, float_precision="round_trip")


if __name__ == "__main__":
    main()
