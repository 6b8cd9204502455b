"""Ridge regression on words and pairs of words."""

import numpy as np
import pandas as pd
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import Ridge
from sklearn.model_selection import cross_val_predict
from sklearn.pipeline import make_pipeline

train = pd.read_csv("/data/train.csv", keep_default_na=False)
test = pd.read_csv("/data/test.csv", keep_default_na=False)

model = make_pipeline(TfidfVectorizer(ngram_range=(1, 2), sublinear_tf=True), Ridge(alpha=1.0, random_state=0))
held_out = cross_val_predict(model, train["text"], train["rating"], cv=5)
model.fit(train["text"], train["rating"])

ratings = np.clip(model.predict(test["text"]), -4, 4)
submission = pd.DataFrame({"tweet_id": test["tweet_id"], "rating": ratings})
submission.to_csv("/output/submission.csv", index=False)
print(f"Final Validation Score: {np.sqrt(np.mean((held_out - train['rating']) ** 2)):.4f}")
