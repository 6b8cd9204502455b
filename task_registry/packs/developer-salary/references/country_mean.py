"""The mean salary of the country."""

import numpy as np
import pandas as pd

train = pd.read_csv("/data/train.csv")
test = pd.read_csv("/data/test.csv")
means = train.groupby("country")["salary"].mean()
error = train["country"].map(means) - train["salary"]
submission = pd.DataFrame({"id": test["id"], "salary": test["country"].map(means)})
submission.to_csv("/output/submission.csv", index=False)
print(f"Final Validation Score: {np.sqrt((error**2).mean()):.2f}")
