"""Smooths the image and takes what is brighter than one threshold, found by Otsu's method on the training strip."""

import numpy as np
import pandas as pd
from scipy import ndimage

LEVELS = 512


def smooth(image: np.ndarray) -> np.ndarray:
    """The logarithm of the blurred image: dividing cells are ten times as bright as others."""
    return np.log1p(ndimage.gaussian_filter(image.astype(float), 1.5, mode="reflect"))


def otsu(values: np.ndarray) -> float:
    """The threshold that leaves the least variance within the two groups that it makes."""
    counts, edges = np.histogram(values, LEVELS)
    centres = (edges[:-1] + edges[1:]) / 2
    below, above = np.cumsum(counts), np.cumsum(counts[::-1])[::-1]
    mean_below = np.cumsum(counts * centres) / np.maximum(below, 1)
    mean_above = np.cumsum((counts * centres)[::-1])[::-1] / np.maximum(above, 1)
    between = below[:-1] * above[1:] * (mean_below[:-1] - mean_above[1:]) ** 2
    return float(centres[np.argmax(between)])


def run_lengths(mask: np.ndarray) -> str:
    """Pairs of first pixel and length, along the rows, the first pixel being 0."""
    edges = np.flatnonzero(np.diff(np.concatenate(([0], mask.ravel().astype(np.int8), [0]))))
    return " ".join(f"{start} {end - start}" for start, end in zip(edges[::2], edges[1::2], strict=True))


train, truth = np.load("/data/train_image.npy"), np.load("/data/train_mask.npy") > 0
threshold = otsu(smooth(train))
found = smooth(train) > threshold
dice = 2 * (found & truth).sum() / (found.sum() + truth.sum())

images = np.load("/data/test_images.npy")
test = pd.read_csv("/data/test.csv")
masks = [run_lengths(smooth(images[index]) > threshold) for index in test["index"]]
pd.DataFrame({"id": test["id"], "mask": masks}).to_csv("/output/submission.csv", index=False)
print(f"Final Validation Score: {dice:.4f}")
