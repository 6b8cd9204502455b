"""Submits the sample submission as it is: the mean for all."""

import shutil

import pandas as pd

train = pd.read_csv("/data/train.csv")
shutil.copyfile("/data/sample_submission.csv", "/output/submission.csv")
print(f"Final Validation Score: {((train['log_s'] + 2.7) ** 2).mean() ** 0.5:.4f}")
