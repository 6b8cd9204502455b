"""Known to be wrong: a straight line through the temperature, which rents less than no bike when it is cold."""

import pandas as pd

test = pd.read_csv("/data/test.csv")
submission = pd.DataFrame({"id": test["id"], "rentals": 400 * test["temperature"] - 100})
submission.to_csv("/output/submission.csv", index=False)
print("Final Validation Score: 0.1")
