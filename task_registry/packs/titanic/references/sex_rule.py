"""The oldest rule for this task: women and girls survive, men and boys do not."""

import pandas as pd

train = pd.read_csv("/data/train.csv")
test = pd.read_csv("/data/test.csv")


def survives(passengers: pd.DataFrame) -> pd.Series:
    """1 for each woman and girl."""
    return (passengers["Sex"] == "female").astype(int)


submission = pd.DataFrame({"PassengerId": test["PassengerId"], "Survived": survives(test)})
submission.to_csv("/output/submission.csv", index=False)
print(f"Final Validation Score: {(survives(train) == train['Survived']).mean():.4f}")
