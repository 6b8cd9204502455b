"""One logistic regression for each genre, on words of the title, names of people, and where the film comes from."""

import numpy as np
import pandas as pd
from scipy import sparse
from sklearn.compose import ColumnTransformer
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split


def names(cell: str) -> list[str]:
    """The names of a list with commas."""
    return [name.strip() for name in cell.split(",") if name.strip()]


def read(file: str) -> pd.DataFrame:
    """A table whose columns of a kind are joined."""
    films = pd.read_csv(file, keep_default_na=False, dtype=str)
    films["people"] = films["director"] + "," + films["writer"] + "," + films["cast"]
    films["place"] = films["language"] + "," + films["country"] + "," + films["company"] + "," + films["rating"]
    return films


def chances(x_train: sparse.csr_matrix, y_train: np.ndarray, x: sparse.csr_matrix) -> np.ndarray:
    """Probability of each genre for each row of ``x``."""
    models = (LogisticRegression(C=5.0, solver="liblinear", random_state=0).fit(x_train, own) for own in y_train.T)
    return np.column_stack([model.predict_proba(x)[:, 1] for model in models])


def f1(said: np.ndarray, truth: np.ndarray) -> float:
    """F1 over all cells."""
    return 2 * (said & truth).sum() / (said.sum() + truth.sum())


train, test = read("/data/train.csv"), read("/data/test.csv")
labels = train["genres"].str.get_dummies("|").astype(bool)
features = ColumnTransformer(
    [
        ("title", TfidfVectorizer(sublinear_tf=True, min_df=2), "title"),
        ("people", TfidfVectorizer(analyzer=names, sublinear_tf=True, min_df=2), "people"),
        ("place", TfidfVectorizer(analyzer=names), "place"),
    ]
)
x_train, x_test = features.fit_transform(train).tocsr(), features.transform(test).tocsr()
y_train = labels.to_numpy()

# From which probability on a genre is named: the best one on a fifth of the films.
fit, hold = train_test_split(np.arange(len(train)), test_size=0.2, random_state=0)
held_out = chances(x_train[fit], y_train[fit], x_train[hold])
score, bound = max((f1(held_out >= bound, y_train[hold]), bound) for bound in np.arange(0.15, 0.5, 0.05))

said = chances(x_train, y_train, x_test) >= bound
genres = ["|".join(labels.columns[own]) for own in said]
pd.DataFrame({"film_id": test["film_id"], "genres": genres}).to_csv("/output/submission.csv", index=False)
print(f"Final Validation Score: {score:.4f}")
