"""Ridge regression on how often runs of up to five characters occur in the SMILES."""

import numpy as np
import pandas as pd
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.linear_model import Ridge
from sklearn.model_selection import cross_val_predict
from sklearn.pipeline import make_pipeline

train = pd.read_csv("/data/train.csv")
test = pd.read_csv("/data/test.csv")

runs = CountVectorizer(analyzer="char", ngram_range=(1, 5), lowercase=False, min_df=2)
model = make_pipeline(runs, Ridge(alpha=30.0, random_state=0))
held_out = cross_val_predict(model, train["smiles"], train["log_s"], cv=5)
model.fit(train["smiles"], train["log_s"])

submission = pd.DataFrame({"substance_id": test["substance_id"], "log_s": model.predict(test["smiles"])})
submission.to_csv("/output/submission.csv", index=False)
print(f"Final Validation Score: {np.sqrt(np.mean((held_out - train['log_s']) ** 2)):.4f}")
