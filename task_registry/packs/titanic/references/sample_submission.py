"""Submits the sample submission as it is: nobody survives."""

import shutil

import pandas as pd

train = pd.read_csv("/data/train.csv")
shutil.copyfile("/data/sample_submission.csv", "/output/submission.csv")
print(f"Final Validation Score: {(train['Survived'] == 0).mean():.4f}")
