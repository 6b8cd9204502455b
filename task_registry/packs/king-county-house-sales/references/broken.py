"""Known to be wrong: writes prices as people read them, with a sign and commas."""

import pandas as pd

train = pd.read_csv("/data/train.csv")
test = pd.read_csv("/data/test.csv")
price = (train["price"] / train["living"]).median() * test["living"]
submission = pd.DataFrame({"id": test["id"], "price": price.map("${:,.0f}".format)})
submission.to_csv("/output/submission.csv", index=False)
print("Final Validation Score: 0.4")
