"""A competition's own grader of MLE-bench, in the form of a task pack's metric."""

import importlib
import io

import pandas as pd

GRADER = ("", "")  # module and function
HIGHER_IS_BETTER = True


def _as_read(frame):
    """The frame as the peer's reader of CSV files types it."""
    return pd.read_csv(io.StringIO(frame.to_csv(index=False)), float_precision="round_trip")


def peer_score(submission, answers):
    """What the peer's grader gives for two files: the score rounded to five decimals, or None for any failure."""
    module, function = GRADER
    try:
        frames = [pd.read_csv(path, float_precision="round_trip") for path in (submission, answers)]
        score = getattr(importlib.import_module(module), function)(*frames)
        return round(score, 5)
    except Exception as error:  # noqa: BLE001  as the peer does; told to whoever compares
        print(f"{type(error).__name__}: {error}")
        return None


class PeerMetrics:
    """The peer's score, its refusals as those of a submission."""

    higher_is_better = HIGHER_IS_BETTER

    def validate_submission(self, submission, ground_truth):
        """Raise what the peer raises for a submission that it refuses."""
        try:
            refusals = (importlib.import_module("mlebench.grade_helpers").InvalidSubmissionError,)
        except ImportError:  # this grader has no way to refuse
            refusals = ()
        try:
            self.evaluate(ground_truth, submission)
        except refusals:
            raise
        except Exception:  # noqa: BLE001  evaluate says it again, as a fault of the metric
            return "not refused"
        return "valid"

    def evaluate(self, y_true, y_pred):
        """The peer's score, rounded as the peer rounds it."""
        module, function = GRADER
        score = getattr(importlib.import_module(module), function)(_as_read(y_pred), _as_read(y_true))
        return round(float(score), 5)
