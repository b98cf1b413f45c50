import csv
from collections import defaultdict
from decimal import Decimal

rows = [
    ["date", "region", "product", "units", "unit_price"],
    ["2024-01-03", "North", "Widget", "10", "2.50"],
    ["2024-01-04", "South", "Gadget", "3", "19.99"],
    ["2024-01-10", "North", "Gadget", "7", "19.99"],
    ["2024-02-01", "East", "Widget", "120", "2.35"],
    ["2024-02-14", "South", "Widget", "44", "2.50"],
    ["2024-02-20", "North", "Gizmo, large", "2", "149.00"],
    ["2024-03-05", "East", "Gadget", "15", "18.75"],
]
with open("sales.csv", "w", newline="") as f:
    csv.writer(f).writerows(rows)

totals = defaultdict(Decimal)
units = defaultdict(int)
with open("sales.csv", newline="") as f:
    for row in csv.DictReader(f):
        revenue = int(row["units"]) * Decimal(row["unit_price"])
        totals[row["region"]] += revenue
        units[row["product"]] += int(row["units"])

print("Revenue by region")
for region, revenue in sorted(totals.items(), key=lambda kv: kv[1], reverse=True):
    print(f"  {region:<8}{revenue:>10.2f}")
print(f"  {'Total':<8}{sum(totals.values()):>10.2f}")

with open("units.csv", "w", newline="") as f:
    writer = csv.DictWriter(f, fieldnames=["product", "units"])
    writer.writeheader()
    for product in sorted(units):
        writer.writerow({"product": product, "units": units[product]})
with open("units.csv") as f:
    print(f.read(), end="")
