"""Ridge regression on words and on runs of letters and marks, which see smileys and "loooove", too."""

import numpy as np
import pandas as pd
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import Ridge
from sklearn.model_selection import cross_val_predict
from sklearn.pipeline import make_pipeline, make_union

train = pd.read_csv("/data/train.csv", keep_default_na=False)
test = pd.read_csv("/data/test.csv", keep_default_na=False)

text = make_union(
    TfidfVectorizer(ngram_range=(1, 2), sublinear_tf=True),
    TfidfVectorizer(analyzer="char_wb", ngram_range=(2, 5), sublinear_tf=True),
)
model = make_pipeline(text, Ridge(alpha=1.5, random_state=0))
held_out = cross_val_predict(model, train["text"], train["rating"], cv=3)
model.fit(train["text"], train["rating"])

ratings = np.clip(model.predict(test["text"]), -4, 4)
submission = pd.DataFrame({"tweet_id": test["tweet_id"], "rating": ratings})
submission.to_csv("/output/submission.csv", index=False)
print(f"Final Validation Score: {np.sqrt(np.mean((held_out - train['rating']) ** 2)):.4f}")
