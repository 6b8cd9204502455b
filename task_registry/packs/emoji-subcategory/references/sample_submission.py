"""Submits the sample submission as it is: everything is a mammal."""

import shutil

import pandas as pd
from sklearn.metrics import f1_score

train = pd.read_csv("/data/train.csv")
shutil.copyfile("/data/sample_submission.csv", "/output/submission.csv")
score = f1_score(train["subcategory"], ["animal-mammal"] * len(train), average="macro", zero_division=0)
print(f"Final Validation Score: {score:.4f}")
