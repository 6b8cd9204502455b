"""The share of damage among the known strikes of the same size and phase of flight, drawn towards the mean."""

import pandas as pd
from sklearn.metrics import roc_auc_score

KEY = ["size", "phase"]
WEIGHT = 20.0
train = pd.read_csv("/data/train.csv")
test = pd.read_csv("/data/test.csv")


def shares(known: pd.DataFrame, wanted: pd.DataFrame) -> pd.Series:
    """For each wanted strike, with ``WEIGHT`` strikes of the mean added to each group."""
    mean = known["damage"].mean()
    groups = known.groupby(KEY)["damage"].agg(["sum", "count"]).reset_index()
    found = wanted[KEY].merge(groups, on=KEY, how="left").fillna({"sum": 0, "count": 0})
    return (found["sum"] + WEIGHT * mean) / (found["count"] + WEIGHT)


half = train["id"] % 2 == 0
score = roc_auc_score(train.loc[half, "damage"], shares(train[~half], train[half]))
submission = pd.DataFrame({"id": test["id"], "damage": shares(train, test)})
submission.to_csv("/output/submission.csv", index=False)
print(f"Final Validation Score: {score:.4f}")
