import os
import sys

REQUIRED = ["input.csv", "config.ini", "schema.json"]

with open("config.ini", "w") as f:
    f.write("[main]\nverbose = true\n")

missing = [name for name in REQUIRED if not os.path.isfile(name)]
print(f"found {len(REQUIRED) - len(missing)} of {len(REQUIRED)} files")
try:
    if missing:
        sys.exit(f"error: missing files: {', '.join(missing)}")
finally:
    print("exiting")
print("never reached")
