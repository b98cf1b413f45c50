# needs: pandas
import json

import pandas as pd

records = [
    {"city": city, "month": month, "temp": base + month * 2 - (month > 6) * (month - 6) * 4, "rain": (month * base) % 17}
    for city, base in (("Oslo", -8), ("Rome", 6), ("Cairo", 14))
    for month in range(1, 13)
]
df = pd.DataFrame.from_records(records)

table = df.pivot_table(index="month", columns="city", values="temp")
print(table.iloc[[0, 5, 11]])
print(table.max().sort_values().to_json())


def season(month):
    return ["winter", "spring", "summer", "autumn"][month % 12 // 3]


df["season"] = df["month"].apply(season)
melted = df.melt(id_vars=["city", "season"], value_vars=["temp", "rain"])
stats = melted.groupby(["city", "variable", "season"])["value"].mean().unstack()
print(stats.round(1))
print(json.dumps(df.query("rain > 14")[["city", "month"]].to_dict("records")))
