"""What the gauge and the thermometer say: something fell or it did not, and it was near freezing or it was not."""

import numpy as np
import pandas as pd
from sklearn.metrics import f1_score

train = pd.read_csv("/data/train.csv")
test = pd.read_csv("/data/test.csv")


def label(days: pd.DataFrame) -> np.ndarray:
    """Snow, rain or sun for each day; fog and drizzle leave no trace that a single rule could find."""
    wet = days["precipitation"] > 0
    cold = (days["temp_min"] < 1.5) & (days["temp_max"] < 6)
    return np.where(wet & cold, "snow", np.where(wet, "rain", "sun"))


pd.DataFrame({"id": test["id"], "weather": label(test)}).to_csv("/output/submission.csv", index=False)
print(f"Final Validation Score: {f1_score(train['weather'], label(train), average='macro', zero_division=0):.4f}")
