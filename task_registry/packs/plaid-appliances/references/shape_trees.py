"""Trees on the shape of a trace: when it rises, how it settles, its rhythm; all relative to its own size."""

import numpy as np
import pandas as pd
from sklearn.ensemble import ExtraTreesClassifier
from sklearn.model_selection import StratifiedKFold, cross_val_score

LAGS = range(1, 9)


def shape(trace: np.ndarray) -> list[float]:
    """Numbers that do not change when the whole trace is multiplied."""
    size = np.abs(trace).max() + 1e-12
    trace = trace / size
    last = trace[-60:-2]
    level = last.std() + 1e-6
    steps = np.diff(trace)
    rise = int(np.argmax(np.abs(trace) > 0.2))
    after = trace[rise : rise + 120]
    spread = [float(piece.std() / level) for piece in np.array_split(after, 8)]
    middle = last - last.mean()
    rhythm = [float((middle[lag:] * middle[:-lag]).mean() / (middle.var() + 1e-9)) for lag in LAGS]
    spectrum = np.abs(np.fft.rfft(middle * np.hanning(len(middle)), 64))
    spectrum = spectrum[:33] / (spectrum.sum() + 1e-9)
    return [
        float(np.log(size)),
        len(trace),
        rise,
        float(trace[:10].std() / level),
        float(trace.min()),
        float(trace.max()),
        level,
        float(np.abs(steps).max()),
        float(np.abs(steps).mean() / level),
        float(((middle / level) ** 3).mean()),
        float(((middle / level) ** 4).mean()),
        *np.quantile(last, np.linspace(0, 1, 9)),
        *np.quantile(trace, np.linspace(0, 1, 9)),
        *spread,
        *rhythm,
        *spectrum,
    ]


def features(table: pd.DataFrame, values: np.ndarray) -> np.ndarray:
    """One row of numbers for each recording."""
    return np.array([shape(values[at : at + size]) for at, size in zip(table["start"], table["length"], strict=True)])


train, test = pd.read_csv("/data/train.csv"), pd.read_csv("/data/test.csv")
known = features(train, np.load("/data/train_values.npy").astype(float))
model = ExtraTreesClassifier(500, max_features=0.3, class_weight="balanced", random_state=0, n_jobs=1)
folds = StratifiedKFold(4, shuffle=True, random_state=0)
score = cross_val_score(model, known, train["appliance"], cv=folds, scoring="f1_macro").mean()

model.fit(known, train["appliance"])
found = model.predict(features(test, np.load("/data/test_values.npy").astype(float)))
pd.DataFrame({"id": test["id"], "appliance": found}).to_csv("/output/submission.csv", index=False)
print(f"Final Validation Score: {score:.4f}")
