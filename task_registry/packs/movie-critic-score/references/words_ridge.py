"""Ridge regression on words of the title, names of people, and the kind of the film."""

import numpy as np
import pandas as pd
from sklearn.compose import ColumnTransformer
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import Ridge
from sklearn.model_selection import cross_val_predict
from sklearn.pipeline import make_pipeline


def names(cell: str) -> list[str]:
    """The names of a list with commas."""
    return [name.strip() for name in cell.split(",") if name.strip()]


def read(file: str) -> pd.DataFrame:
    """A table whose columns of a kind are joined."""
    films = pd.read_csv(file, keep_default_na=False, dtype=str)
    films["people"] = films["director"] + "," + films["writer"] + "," + films["cast"]
    films["kind"] = films[["genres", "language", "country", "company", "rating"]].agg(",".join, axis=1)
    return films


train, test = read("/data/train.csv"), read("/data/test.csv")
scores = train["score"].astype(float)
features = ColumnTransformer(
    [
        ("title", TfidfVectorizer(sublinear_tf=True, min_df=2), "title"),
        ("director", TfidfVectorizer(analyzer=names), "director"),
        ("people", TfidfVectorizer(analyzer=names, sublinear_tf=True, min_df=2), "people"),
        ("kind", TfidfVectorizer(analyzer=names, min_df=2), "kind"),
    ]
)
ridge = make_pipeline(features, Ridge(alpha=4.0, random_state=0))
held_out = cross_val_predict(ridge, train, scores, cv=5)
ridge.fit(train, scores)

submission = pd.DataFrame({"film_id": test["film_id"], "score": np.clip(ridge.predict(test), 0, 100)})
submission.to_csv("/output/submission.csv", index=False)
print(f"Final Validation Score: {np.sqrt(np.mean((np.clip(held_out, 0, 100) - scores) ** 2)):.4f}")
