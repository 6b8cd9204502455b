"""The mean of the frames before and after."""

import numpy as np
import pandas as pd

frames = np.load("/data/train_frames.npy").astype(float)
between = (frames[:-1] + frames[1:]) / 2

# The known frames, two apart, are a film of half the speed: each but the first and the last lies between two others.
error = ((frames[1:-1] - (frames[:-2] + frames[2:]) / 2) ** 2).mean(axis=(1, 2))
score = np.minimum(10 * np.log10(255**2 / np.maximum(error, 1e-9)), 60).mean()

test = pd.read_csv("/data/test.csv")
pixels = between[test["frame"] // 2, test["row"]]
columns = [f"p{column:02d}" for column in range(frames.shape[2])]
submission = pd.DataFrame(pixels, columns=columns)
submission.insert(0, "id", test["id"])
submission.to_csv("/output/submission.csv", index=False)
print(f"Final Validation Score: {score:.4f}")
