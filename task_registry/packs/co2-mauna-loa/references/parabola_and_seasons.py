"""A parabola for the trend and waves for the seasons, by least squares. Tried on the five years before the forecast."""

import numpy as np
import pandas as pd

WEEKS_A_YEAR = 365.25 / 7
WAVES = 4
train = pd.read_csv("/data/train.csv").dropna()
test = pd.read_csv("/data/test.csv")


def terms(weeks: pd.Series) -> np.ndarray:
    """Powers of the time up to the second, and sine and cosine of the year and its parts."""
    years = weeks.to_numpy() / WEEKS_A_YEAR
    waves = [turn(2 * np.pi * wave * years) for wave in range(1, WAVES + 1) for turn in (np.sin, np.cos)]
    return np.column_stack([np.ones(len(years)), years / 40, (years / 40) ** 2, *waves])


def forecast(known: pd.DataFrame, weeks: pd.Series) -> np.ndarray:
    """Fitted to ``known``, at ``weeks``."""
    coefficients, *_ = np.linalg.lstsq(terms(known["week"]), known["co2"], rcond=None)
    return terms(weeks) @ coefficients


before, after = train.iloc[:-261], train.iloc[-261:]
error = forecast(before, after["week"]) - after["co2"]
pd.DataFrame({"week": test["week"], "co2": forecast(train, test["week"])}).to_csv("/output/submission.csv", index=False)
print(f"Final Validation Score: {np.sqrt((error**2).mean()):.4f}")
