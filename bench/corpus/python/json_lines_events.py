import json
from collections import Counter, defaultdict

users = ["ann", "ben", "cat", "dan"]
actions = ["login", "view", "view", "purchase", "logout"]
with open("events.jsonl", "w") as f:
    for i in range(200):
        event = {"ts": 1700000000 + i * 37, "user": users[i * 7 % 4], "action": actions[i * 3 % 5]}
        if event["action"] == "purchase":
            event["amount"] = round(5 + i * 1.37 % 90, 2)
        f.write(json.dumps(event) + "\n")
    f.write("not json\n")

counts = Counter()
spent = defaultdict(float)
errors = 0
with open("events.jsonl") as f:
    for line in f:
        try:
            event = json.loads(line)
        except json.JSONDecodeError:
            errors += 1
            continue
        counts[event["action"]] += 1
        spent[event["user"]] += event.get("amount", 0)

print("Actions:", counts.most_common())
print("Errors:", errors)
for user in sorted(spent):
    print(f"{user}: {spent[user]:.2f}")
