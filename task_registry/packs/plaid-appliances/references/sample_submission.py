"""Submits the sample submission as it is: everything is a compact fluorescent lamp."""

import shutil

import pandas as pd
from sklearn.metrics import f1_score

train = pd.read_csv("/data/train.csv")
shutil.copyfile("/data/sample_submission.csv", "/output/submission.csv")
guess = ["compact fluorescent lamp"] * len(train)
print(f"Final Validation Score: {f1_score(train['appliance'], guess, average='macro', zero_division=0):.4f}")
