# needs: pandas
import pandas as pd

df = pd.DataFrame(
    {
        "department": ["eng", "ops", "eng", "hr", "ops", "eng", "hr"],
        "employee": ["Ann", "Bo", "Cy", "Di", "Ed", "Flo", "Gus"],
        "salary": [120, 80, 135, 70, 85, 110, 72],
        "years": [5, 3, 9, 2, 7, 4, 6],
    }
)
print(df.head(3))
print(df.groupby("department")["salary"].agg(["count", "mean", "max"]).round(2))

df["senior"] = df["years"] >= 5
print(df[df["senior"]].sort_values("salary", ascending=False)[["employee", "salary"]].to_string(index=False))
print("correlation:", round(df["salary"].corr(df["years"]), 4))
print(df.describe().loc[["mean", "min", "max"]].round(2))
top = df.loc[df.groupby("department")["salary"].idxmax()]
print(dict(zip(top["department"], top["employee"])))
