"""Naive Bayes on words: which words are rarer in the other categories."""

import pandas as pd
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.metrics import f1_score
from sklearn.model_selection import train_test_split
from sklearn.naive_bayes import ComplementNB
from sklearn.pipeline import make_pipeline

train = pd.read_csv("/data/train.csv", keep_default_na=False)
test = pd.read_csv("/data/test.csv", keep_default_na=False)

model = make_pipeline(TfidfVectorizer(sublinear_tf=True), ComplementNB(alpha=0.3))
fit, hold = train_test_split(train, test_size=0.2, stratify=train["category"], random_state=0)
model.fit(fit["definition"], fit["category"])
score = f1_score(hold["category"], model.predict(hold["definition"]), average="macro")

model.fit(train["definition"], train["category"])
categories = model.predict(test["definition"])
submission = pd.DataFrame({"definition_id": test["definition_id"], "category": categories})
submission.to_csv("/output/submission.csv", index=False)
print(f"Final Validation Score: {score:.4f}")
