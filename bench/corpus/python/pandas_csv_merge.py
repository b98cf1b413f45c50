# needs: pandas
import io

import pandas as pd

orders = pd.read_csv(
    io.StringIO(
        """order_id,customer,amount,date
1,10,25.5,2024-01-05
2,11,,2024-01-07
3,10,99.9,2024-02-11
4,13,12.0,2024-02-28
"""
    ),
    parse_dates=["date"],
)
customers = pd.read_csv(io.StringIO("id,name\n10,Alice\n11,Bob\n12,Carol\n"))

print("missing amounts:", int(orders["amount"].isna().sum()))
orders["amount"] = orders["amount"].fillna(orders["amount"].median())
merged = orders.merge(customers, left_on="customer", right_on="id", how="left").drop(columns="id")
merged["name"] = merged["name"].fillna("(unknown)")
print(merged.to_string(index=False))

summary = merged.groupby("name", as_index=False)["amount"].sum()
summary.to_csv("summary.csv", index=False)
print(open("summary.csv").read())
print(merged["date"].dt.month.value_counts().sort_index().to_dict())
