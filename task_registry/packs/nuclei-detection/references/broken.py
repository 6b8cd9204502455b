"""Known to be wrong: writes boxes without their confidence."""

import pandas as pd

test = pd.read_csv("/data/test.csv")
submission = pd.DataFrame({"id": test["id"], "boxes": "10 10 25 15"})
submission.to_csv("/output/submission.csv", index=False)
print("Final Validation Score: 1.0")
