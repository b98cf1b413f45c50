import csv
import io
import re

raw = """id;name;email;age;joined
1; Alice Smith ;ALICE@EXAMPLE.COM;34;2021-05-01
2;Bob;bob@example;n/a;2020-11-17
3;"Carol ""CJ"" Jones";carol@example.org;29;
1; Alice Smith ;alice@example.com;34;2021-05-01
4;;dave@example.net;41;2019-02-28
5;Eve;eve@example.com;-3;2022-07-09
"""

EMAIL = re.compile(r"^[\w.+-]+@[\w-]+(\.[\w-]+)+$")


def clean(row):
    problems = []
    name = row["name"].strip()
    email = row["email"].strip().lower()
    if not name:
        problems.append("missing name")
    if not EMAIL.match(email):
        problems.append(f"bad email {email!r}")
    try:
        age = int(row["age"])
        if not 0 <= age <= 150:
            problems.append(f"age out of range: {age}")
    except ValueError:
        age = None
        problems.append(f"age is not a number: {row['age']!r}")
    return {"id": int(row["id"]), "name": name, "email": email, "age": age, "joined": row["joined"] or None}, problems


seen, good, bad = set(), [], []
for number, row in enumerate(csv.DictReader(io.StringIO(raw), delimiter=";"), start=2):
    record, problems = clean(row)
    if record["id"] in seen:
        problems.append("duplicate id")
    seen.add(record["id"])
    (bad if problems else good).append((number, record, problems))

print(f"{len(good)} good, {len(bad)} rejected")
for number, record, _ in good:
    print(f"line {number}: {record}")
for number, record, problems in bad:
    print(f"line {number}: id {record['id']}: {'; '.join(problems)}")
