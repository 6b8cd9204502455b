"""Submits the sample submission as it is: all cells are one cluster."""

import shutil

shutil.copyfile("/data/sample_submission.csv", "/output/submission.csv")
print("Final Validation Score: 0.0")
