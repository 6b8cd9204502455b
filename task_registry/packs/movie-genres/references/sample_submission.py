"""Submits the sample submission as it is: every film is a drama and nothing else."""

import shutil

import pandas as pd

train = pd.read_csv("/data/train.csv")
shutil.copyfile("/data/sample_submission.csv", "/output/submission.csv")
genres = train["genres"].str.split("|")
right = genres.map(lambda own: "Drama" in own).sum()
print(f"Final Validation Score: {2 * right / (len(train) + genres.map(len).sum()):.4f}")
