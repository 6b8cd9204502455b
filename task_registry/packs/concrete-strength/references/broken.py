"""Known to be wrong: divides by the slag and leaves the infinite values in."""

import pandas as pd

test = pd.read_csv("/data/test.csv")
submission = pd.DataFrame({"id": test["id"], "strength": test["cement"] / test["slag"]})
submission.to_csv("/output/submission.csv", index=False)
print("Final Validation Score: 0.0")
