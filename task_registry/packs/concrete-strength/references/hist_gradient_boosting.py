"""Gradient boosting on the ingredients, their ratios and the logarithm of age; cross-validation by mix."""

import numpy as np
import pandas as pd
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.model_selection import GroupKFold, cross_val_predict

train = pd.read_csv("/data/train.csv")
test = pd.read_csv("/data/test.csv")
INGREDIENTS = ["cement", "slag", "fly_ash", "water", "superplasticizer", "coarse_aggregate", "fine_aggregate"]


def features(samples: pd.DataFrame) -> np.ndarray:
    """One row of numbers for each sample."""
    binder = samples["cement"] + samples["slag"] + samples["fly_ash"]
    ratios = [samples["water"] / samples["cement"], samples["water"] / binder, samples["superplasticizer"] / binder]
    return np.column_stack([samples[INGREDIENTS], *ratios, binder, np.log(samples["age"])])


mixes = train.groupby(INGREDIENTS).ngroup()
model = HistGradientBoostingRegressor(max_iter=300, learning_rate=0.07, max_leaf_nodes=12, random_state=0)
folds = GroupKFold(n_splits=5)
error = cross_val_predict(model, features(train), train["strength"], groups=mixes, cv=folds) - train["strength"]
model.fit(features(train), train["strength"])

submission = pd.DataFrame({"id": test["id"], "strength": model.predict(features(test))})
submission.to_csv("/output/submission.csv", index=False)
print(f"Final Validation Score: {np.sqrt((error**2).mean()):.4f}")
