"""The mean year of the artist's other series, drawn towards the mean of all where these are few."""

import pandas as pd

PRIOR_SERIES = 2  # the mean of all counts as much as two series of the artist

train = pd.read_csv("/data/train.csv")
test = pd.read_csv("/data/test.csv")
overall = train["year"].mean()
by_artist = train.groupby("artist")["year"].agg(["sum", "count"])


def shrunken(total: pd.Series, count: pd.Series) -> pd.Series:
    """Mean of ``count`` years, with the mean of all mixed in."""
    return (total + PRIOR_SERIES * overall) / (count + PRIOR_SERIES)


# A training series must not see its own year: it is taken out of its artist's sum.
known = by_artist.loc[train["artist"]].reset_index(drop=True)
left_out = shrunken(known["sum"] - train["year"], known["count"] - 1)
score = (left_out - train["year"]).abs().mean()

means = shrunken(by_artist["sum"], by_artist["count"])
submission = pd.DataFrame({"work_id": test["work_id"], "year": test["artist"].map(means).fillna(overall)})
submission.to_csv("/output/submission.csv", index=False)
print(f"Final Validation Score: {score:.4f}")
