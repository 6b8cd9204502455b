"""Compares each picture with the mean picture of each kind."""

import numpy as np
import pandas as pd

train, test = pd.read_csv("/data/train.csv"), pd.read_csv("/data/test.csv")
pictures = np.load("/data/train_images.npy").reshape(len(train), -1)[train["index"]] / 255.0
asked = np.load("/data/test_images.npy").reshape(len(test), -1)[test["index"]] / 255.0
garments = sorted(train["garment"].unique())
truth = train["garment"].to_numpy()


def nearest(known: np.ndarray, kinds: np.ndarray, unknown: np.ndarray) -> np.ndarray:
    """The kind whose mean picture has the least squared distance."""
    means = np.stack([known[kinds == garment].mean(axis=0) for garment in garments])
    distance = (means**2).sum(axis=1) - 2 * unknown @ means.T
    return np.array(garments)[distance.argmin(axis=1)]


half = len(train) // 2
score = (nearest(pictures[:half], truth[:half], pictures[half:]) == truth[half:]).mean()
found = nearest(pictures, truth, asked)
pd.DataFrame({"id": test["id"], "garment": found}).to_csv("/output/submission.csv", index=False)
print(f"Final Validation Score: {score:.4f}")
