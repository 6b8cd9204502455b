"""The broker's rule: living space times the median price of a square foot in the zip code. Tried on the last months."""

import numpy as np
import pandas as pd

train = pd.read_csv("/data/train.csv")
test = pd.read_csv("/data/test.csv")


def prices(known: pd.DataFrame, sales: pd.DataFrame) -> pd.Series:
    """A price for each sale."""
    per_foot = (known["price"] / known["living"]).groupby(known["zipcode"]).median()
    return sales["zipcode"].map(per_foot) * sales["living"]


late = train["date"] >= "2015-01-01"
error = np.log1p(prices(train[~late], train[late])) - np.log1p(train.loc[late, "price"])
pd.DataFrame({"id": test["id"], "price": prices(train, test)}).to_csv("/output/submission.csv", index=False)
print(f"Final Validation Score: {np.sqrt((error**2).mean()):.4f}")
