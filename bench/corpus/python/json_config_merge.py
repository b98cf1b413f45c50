import copy
import json

defaults = {
    "server": {"host": "localhost", "port": 8080, "tls": {"enabled": False, "cert": None}},
    "logging": {"level": "INFO", "handlers": ["console"]},
    "features": {"beta": False, "search": True},
}
production = """
{
  "server": {"host": "0.0.0.0", "tls": {"enabled": true, "cert": "/etc/cert.pem"}},
  "logging": {"level": "WARNING", "handlers": ["console", "file"]},
  "limits": {"rate": 100.5, "burst": 1e3}
}
"""


def deep_merge(base, override):
    result = copy.deepcopy(base)
    for key, value in override.items():
        if isinstance(value, dict) and isinstance(result.get(key), dict):
            result[key] = deep_merge(result[key], value)
        else:
            result[key] = copy.deepcopy(value)
    return result


config = deep_merge(defaults, json.loads(production))
with open("config.json", "w") as f:
    json.dump(config, f, indent=2, sort_keys=True)

with open("config.json") as f:
    loaded = json.load(f)
assert loaded == config
print(json.dumps(loaded, indent=2, sort_keys=True))
print("defaults unchanged:", defaults["server"]["tls"]["enabled"] is False)

try:
    json.loads('{"a": 1,}')
except json.JSONDecodeError as e:
    print(f"invalid JSON at line {e.lineno}, column {e.colno}")
