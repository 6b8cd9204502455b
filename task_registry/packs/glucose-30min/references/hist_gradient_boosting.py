"""Gradient boosting on the readings of the last hour, for the change of the next half; tried on the last months."""

import numpy as np
import pandas as pd
from sklearn.ensemble import HistGradientBoostingRegressor

HISTORY, AHEAD = 12, 6
train = pd.read_csv("/data/train.csv", parse_dates=["time"])
test = pd.read_csv("/data/test.csv")

# Column j of the windows is 5 * (11 - j) minutes before their end, as in test.csv.
minutes = (train["time"].dt.hour * 60 + train["time"].dt.minute).to_numpy()
reading = np.lib.stride_tricks.sliding_window_view(train["glucose"].to_numpy(), HISTORY + AHEAD)
current = np.lib.stride_tricks.sliding_window_view(train["isig"].to_numpy(), HISTORY + AHEAD)
time = train["time"].to_numpy()
whole = time[HISTORY + AHEAD - 1 :] - time[: -(HISTORY + AHEAD - 1)] == np.timedelta64(5 * (HISTORY + AHEAD - 1), "m")


def features(minute: np.ndarray, glucose: np.ndarray, isig: np.ndarray) -> np.ndarray:
    """The last level, how it changed, and the relative change of the current."""
    change = glucose[:, -1:] - glucose[:, :-1]
    flow = isig[:, -1:] / isig[:, :-1]
    return np.column_stack([minute, glucose[:, -1], change, flow])


known = features(minutes[HISTORY - 1 : -AHEAD], reading[:, :HISTORY], current[:, :HISTORY])[whole]
rise = (reading[:, -1] - reading[:, HISTORY - 1])[whole]
model = HistGradientBoostingRegressor(
    max_iter=120, learning_rate=0.06, max_leaf_nodes=16, early_stopping=False, random_state=0
)
early = len(known) * 3 // 4
model.fit(known[:early], rise[:early])
error = model.predict(known[early + HISTORY + AHEAD :]) - rise[early + HISTORY + AHEAD :]
model.fit(known, rise)

glucose, isig = (test.filter(regex=f"^{name}_").to_numpy(dtype=float) for name in ("glucose", "isig"))
later = glucose[:, -1] + model.predict(features(test["minute_of_day"].to_numpy(), glucose, isig))
submission = pd.DataFrame({"id": test["id"], "glucose_30min_later": later})
submission.to_csv("/output/submission.csv", index=False)
print(f"Final Validation Score: {np.sqrt((error**2).mean()):.4f}")
