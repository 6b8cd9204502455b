"""Gradient boosting on the report, the reports before and after it, and how the storm moves; tried on late storms."""

import numpy as np
import pandas as pd
from sklearn.ensemble import HistGradientBoostingRegressor

NATURES = ["tropical", "subtropical", "extratropical", "tropical wave", "disturbance", "other low"]
train = pd.read_csv("/data/train.csv", parse_dates=["time"])
test = pd.read_csv("/data/test.csv", parse_dates=["time"])


def features(reports: pd.DataFrame) -> np.ndarray:
    """One row of numbers for each report; beyond the ends of a storm they are unknown."""
    storms = reports.groupby("storm")
    columns = [
        reports["pressure"],
        reports["latitude"],
        reports["longitude"],
        pd.Categorical(reports["nature"], categories=NATURES).codes,
        reports["time"].dt.dayofyear,
        storms.cumcount(),
        reports["pressure"] - storms["pressure"].transform("min"),
    ]
    columns += [reports["pressure"] - storms["pressure"].shift(step) for step in (1, 2, 4, -1, -2, -4)]
    columns += [reports[name] - storms[name].shift(step) for name in ("latitude", "longitude") for step in (1, -1)]
    return np.column_stack(columns)


model = HistGradientBoostingRegressor(
    max_iter=250, learning_rate=0.05, max_leaf_nodes=20, early_stopping=False, random_state=0
)
known = features(train)
late = (train["time"].dt.year >= 2005).to_numpy()
model.fit(known[~late], train["wind"][~late])
error = model.predict(known[late]) - train["wind"][late]
model.fit(known, train["wind"])

submission = pd.DataFrame({"id": test["id"], "wind": model.predict(features(test))})
submission.to_csv("/output/submission.csv", index=False)
print(f"Final Validation Score: {np.sqrt((error**2).mean()):.4f}")
