"""Known to be wrong: writes the number of a class instead of its name."""

import pandas as pd

test = pd.read_csv("/data/test.csv")
pd.DataFrame({"id": test["id"], "appliance": 1}).to_csv("/output/submission.csv", index=False)
print("Final Validation Score: 1.0")
