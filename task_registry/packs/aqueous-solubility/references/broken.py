"""Known to be wrong: knows a substance by its SMILES and submits that as the id."""

import pandas as pd

test = pd.read_csv("/data/test.csv")
submission = pd.DataFrame({"substance_id": test["smiles"], "log_s": -2.7})
submission.to_csv("/output/submission.csv", index=False)
print("Final Validation Score: 0.0")
