"""Known to be wrong: writes percent signs, so that no cell is a number."""

import pandas as pd

test = pd.read_csv("/data/test.csv")
submission = pd.DataFrame({"film_id": test["film_id"], "score": "62 %"})
submission.to_csv("/output/submission.csv", index=False)
print("Final Validation Score: 0.0")
