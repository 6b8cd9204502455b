"""Logistic regression on words and runs of letters of the name; pictures are not looked at."""

import pandas as pd
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import f1_score
from sklearn.model_selection import StratifiedKFold, cross_val_predict
from sklearn.pipeline import make_pipeline, make_union

train = pd.read_csv("/data/train.csv")
test = pd.read_csv("/data/test.csv")

model = make_pipeline(
    make_union(
        TfidfVectorizer(sublinear_tf=True),
        TfidfVectorizer(analyzer="char_wb", ngram_range=(2, 4), sublinear_tf=True),
    ),
    LogisticRegression(C=30.0, max_iter=500),
)
folds = StratifiedKFold(n_splits=3, shuffle=True, random_state=0)
held_out = cross_val_predict(model, train["name"], train["subcategory"], cv=folds)
model.fit(train["name"], train["subcategory"])

submission = pd.DataFrame({"emoji_id": test["emoji_id"], "subcategory": model.predict(test["name"])})
submission.to_csv("/output/submission.csv", index=False)
print(f"Final Validation Score: {f1_score(train['subcategory'], held_out, average='macro'):.4f}")
