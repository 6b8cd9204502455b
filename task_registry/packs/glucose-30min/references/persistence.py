"""It stays as it is: the last reading of the window."""

import numpy as np
import pandas as pd

train = pd.read_csv("/data/train.csv", parse_dates=["time"])
test = pd.read_csv("/data/test.csv")

in_half_an_hour = train["time"].shift(-6) - train["time"] == pd.Timedelta(minutes=30)
error = (train["glucose"].shift(-6) - train["glucose"])[in_half_an_hour]
submission = pd.DataFrame({"id": test["id"], "glucose_30min_later": test["glucose_0"]})
submission.to_csv("/output/submission.csv", index=False)
print(f"Final Validation Score: {np.sqrt((error**2).mean()):.4f}")
