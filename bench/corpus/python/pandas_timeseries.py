# needs: pandas numpy
import numpy as np
import pandas as pd

index = pd.date_range("2024-01-01", periods=90, freq="D")
rng = np.random.default_rng(0)
series = pd.Series(100 + rng.normal(0, 1, 90).cumsum(), index=index, name="price")

weekly = series.resample("W").mean()
print(weekly.round(2).head(4).to_string())
rolling = series.rolling(7).mean()
print("first rolling value:", rolling.first_valid_index().date(), round(rolling.dropna().iloc[0], 3))
returns = series.pct_change().dropna()
print(f"volatility {returns.std():.5f}, best day {returns.idxmax().date()}")
print(series["2024-02"].agg(["min", "max"]).round(2).to_dict())
print(series.groupby(series.index.dayofweek).mean().round(1).tolist())
