"""The mean of the logarithm for each hour of the day, of working days and of others."""

import numpy as np
import pandas as pd

KEY = ["workingday", "hour"]
train = pd.read_csv("/data/train.csv")
test = pd.read_csv("/data/test.csv")
train["log"] = np.log1p(train["rentals"])
means = train.groupby(KEY)["log"].mean().rename("mean").reset_index()

error = train.merge(means, on=KEY)
submission = test.merge(means, on=KEY)
submission["rentals"] = np.expm1(submission["mean"])
submission[["id", "rentals"]].to_csv("/output/submission.csv", index=False)
print(f"Final Validation Score: {np.sqrt(((error['log'] - error['mean']) ** 2).mean()):.4f}")
