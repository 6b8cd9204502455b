"""Known to be wrong: names a language that is not asked for."""

import pandas as pd

test = pd.read_csv("/data/test.csv")
pd.DataFrame({"id": test["id"], "language": "russian"}).to_csv("/output/submission.csv", index=False)
print("Final Validation Score: 1.0")
