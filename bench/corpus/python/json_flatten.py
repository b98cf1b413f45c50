import json


def flatten(value, prefix=""):
    """Yield (path, leaf) for every leaf of a nested structure."""
    if isinstance(value, dict):
        for key, item in value.items():
            yield from flatten(item, f"{prefix}.{key}" if prefix else key)
    elif isinstance(value, list):
        for i, item in enumerate(value):
            yield from flatten(item, f"{prefix}[{i}]")
    else:
        yield prefix, value


data = {
    "user": {"id": 7, "name": "Zoë", "tags": ["admin", "ops"]},
    "orders": [
        {"id": "A-1", "lines": [{"sku": "x", "qty": 2}, {"sku": "y", "qty": 1}]},
        {"id": "A-2", "lines": []},
    ],
    "active": True,
    "score": 12.75,
    "note": None,
}
for path, leaf in flatten(data):
    print(f"{path} = {json.dumps(leaf, ensure_ascii=False)}")

print(json.dumps(dict(flatten(data)), separators=(",", ":")))
