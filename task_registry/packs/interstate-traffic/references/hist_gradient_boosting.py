"""Gradient boosting on calendar and weather, for the absolute error; tried on the months before the forecast."""

import numpy as np
import pandas as pd
from sklearn.ensemble import HistGradientBoostingRegressor

train = pd.read_csv("/data/train.csv", parse_dates=["time"])
test = pd.read_csv("/data/test.csv", parse_dates=["time"])
WEATHER = sorted(train["weather"].unique())


def features(hours: pd.DataFrame) -> np.ndarray:
    """One row of numbers for each hour."""
    time = hours["time"].dt
    calendar = [time.hour, time.dayofweek, time.hour + 24 * time.dayofweek, time.dayofyear, hours["holiday"].notna()]
    weather = [hours["temperature"], hours["rain"], hours["clouds"], pd.Categorical(hours["weather"], WEATHER).codes]
    return np.column_stack([*calendar, *weather, time.year])


model = HistGradientBoostingRegressor(
    loss="absolute_error", max_iter=100, learning_rate=0.15, early_stopping=False, random_state=0
)
recent = train[train["time"] >= "2015-06-01"]
late = recent["time"] >= "2018-04-01"
model.fit(features(recent[~late]), recent.loc[~late, "vehicles"])
error = model.predict(features(recent[late])) - recent.loc[late, "vehicles"]
model.fit(features(recent), recent["vehicles"])

submission = pd.DataFrame({"id": test["id"], "vehicles": model.predict(features(test))})
submission.to_csv("/output/submission.csv", index=False)
print(f"Final Validation Score: {error.abs().mean():.4f}")
