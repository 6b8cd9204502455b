"""A straight line through the last ten years, without seasons. Tried on the five years before the forecast."""

import numpy as np
import pandas as pd

WEEKS = 522
train = pd.read_csv("/data/train.csv").dropna()
test = pd.read_csv("/data/test.csv")


def forecast(known: pd.DataFrame, weeks: pd.Series) -> np.ndarray:
    """The line through the last ``WEEKS`` known weeks, at ``weeks``."""
    last = known.tail(WEEKS)
    middle = last["week"].mean()
    slope, height = np.polyfit(last["week"] - middle, last["co2"], 1)
    return slope * (weeks.to_numpy() - middle) + height


before, after = train.iloc[:-261], train.iloc[-261:]
error = forecast(before, after["week"]) - after["co2"]
pd.DataFrame({"week": test["week"], "co2": forecast(train, test["week"])}).to_csv("/output/submission.csv", index=False)
print(f"Final Validation Score: {np.sqrt((error**2).mean()):.4f}")
