"""Gradient boosting with means of the weather around the hour and before it; tried on the last known year."""

import numpy as np
import pandas as pd
from sklearn.ensemble import HistGradientBoostingRegressor

MEASURED = ["dew_point", "temperature", "pressure", "wind_run"]
train = pd.read_csv("/data/train.csv", parse_dates=["time"])
test = pd.read_csv("/data/test.csv", parse_dates=["time"])
record = pd.concat([train, test]).set_index("id").sort_index()
weather = record[MEASURED].assign(north=record["wind"].isin(["NE", "NW"]).astype(float))
around = {hours: weather.rolling(hours, min_periods=1).mean().add_suffix(f"_{hours}") for hours in (6, 24, 72)}
wide = pd.concat([weather, *around.values(), weather.shift(-6).add_suffix("_later")], axis=1)


def features(hours: pd.DataFrame) -> np.ndarray:
    """One row of numbers for each hour."""
    wind = pd.Categorical(hours["wind"], categories=["NE", "NW", "SE", "calm"]).codes
    time = hours["time"].dt
    return np.column_stack(
        [wide.loc[hours["id"]], wind, hours[["snow_hours", "rain_hours"]], time.hour, time.dayofyear]
    )


train = train.dropna()
model = HistGradientBoostingRegressor(
    max_iter=60, learning_rate=0.1, min_samples_leaf=100, l2_regularization=5.0, early_stopping=False, random_state=0
)
log = np.log1p(train["pm25"])
late = train["time"].dt.year == 2013
model.fit(features(train[~late]), log[~late])
error = model.predict(features(train[late])) - log[late]
model.fit(features(train), log)

submission = pd.DataFrame({"id": test["id"], "pm25": np.expm1(model.predict(features(test))).clip(min=0)})
submission.to_csv("/output/submission.csv", index=False)
print(f"Final Validation Score: {np.sqrt((error**2).mean()):.4f}")
