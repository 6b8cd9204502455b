"""Submits the sample submission as it is: every word is the one phoneme AH."""

import shutil

import pandas as pd

train = pd.read_csv("/data/train.csv", keep_default_na=False)
shutil.copyfile("/data/sample_submission.csv", "/output/submission.csv")
sounds = train["phonemes"].str.split()
right = sounds.map(lambda phonemes: "AH" in phonemes).sum()
print(f"Final Validation Score: {1 - right / sounds.str.len().sum():.4f}")
