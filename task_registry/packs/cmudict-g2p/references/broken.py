"""Known to be wrong: says nothing for the words that it has not met."""

import pandas as pd

train = pd.read_csv("/data/train.csv", keep_default_na=False)
test = pd.read_csv("/data/test.csv", keep_default_na=False)
known = train.set_index("word")["phonemes"]
submission = pd.DataFrame({"word_id": test["word_id"], "phonemes": test["word"].map(known)})
submission.to_csv("/output/submission.csv", index=False)
print("Final Validation Score: 0.0")
