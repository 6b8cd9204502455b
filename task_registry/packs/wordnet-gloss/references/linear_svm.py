"""Linear support vector machine on words and pairs of words."""

import pandas as pd
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.metrics import f1_score
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.svm import LinearSVC

train = pd.read_csv("/data/train.csv", keep_default_na=False)
test = pd.read_csv("/data/test.csv", keep_default_na=False)

model = make_pipeline(
    TfidfVectorizer(ngram_range=(1, 2), sublinear_tf=True, min_df=2),
    LinearSVC(C=0.5, random_state=0),
)
fit, hold = train_test_split(train, test_size=0.2, stratify=train["category"], random_state=0)
model.fit(fit["definition"], fit["category"])
score = f1_score(hold["category"], model.predict(hold["definition"]), average="macro")

model.fit(train["definition"], train["category"])
categories = model.predict(test["definition"])
submission = pd.DataFrame({"definition_id": test["definition_id"], "category": categories})
submission.to_csv("/output/submission.csv", index=False)
print(f"Final Validation Score: {score:.4f}")
