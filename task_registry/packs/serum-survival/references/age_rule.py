"""The risk is the age."""

import numpy as np
import pandas as pd


def concordance(risk: np.ndarray, days: np.ndarray, died: np.ndarray) -> float:
    """The share of comparable pairs in the right order; a tie is half right."""
    right = pairs = 0.0
    for place in np.flatnonzero(died):
        later = (days > days[place]) | ((days == days[place]) & ~died)
        right += (risk[later] < risk[place]).sum() + 0.5 * (risk[later] == risk[place]).sum()
        pairs += later.sum()
    return right / pairs


train, test = pd.read_csv("/data/train.csv"), pd.read_csv("/data/test.csv")
score = concordance(train["age"].to_numpy(), train["days"].to_numpy(), train["died"].to_numpy() == 1)
pd.DataFrame({"id": test["id"], "risk": test["age"]}).to_csv("/output/submission.csv", index=False)
print(f"Final Validation Score: {score:.4f}")
