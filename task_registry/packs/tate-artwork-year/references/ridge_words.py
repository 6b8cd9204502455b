"""Ridge regression on words of artist, title and medium; where a title names a year, that one."""

import numpy as np
import pandas as pd
from sklearn.compose import ColumnTransformer
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import Ridge
from sklearn.model_selection import KFold, cross_val_predict
from sklearn.pipeline import make_pipeline

train = pd.read_csv("/data/train.csv", keep_default_na=False)
test = pd.read_csv("/data/test.csv", keep_default_na=False)
WHOLE_NAME = r".+"  # an artist is one word, blanks and all

words = ColumnTransformer(
    [
        ("artist", TfidfVectorizer(token_pattern=WHOLE_NAME), "artist"),
        ("titles", TfidfVectorizer(ngram_range=(1, 2), sublinear_tf=True), "titles"),
        ("medium", TfidfVectorizer(ngram_range=(1, 2)), "medium"),
    ]
)
model = make_pipeline(words, Ridge(alpha=2.0, random_state=0))


def with_named_years(works: pd.DataFrame, predicted: np.ndarray) -> np.ndarray:
    """The latest possible year that a title names, where there is one; else the prediction."""
    named = works["titles"].str.findall(r"\b(199\d|200\d|201[0-2])\b").map(lambda years: max(years, default=None))
    return np.where(named.notna(), named.astype(float), predicted)


folds = KFold(n_splits=5, shuffle=True, random_state=0)
held_out = with_named_years(train, cross_val_predict(model, train, train["year"], cv=folds))
model.fit(train, train["year"])

submission = pd.DataFrame({"work_id": test["work_id"], "year": with_named_years(test, model.predict(test))})
submission.to_csv("/output/submission.csv", index=False)
print(f"Final Validation Score: {np.abs(held_out - train['year']).mean():.4f}")
