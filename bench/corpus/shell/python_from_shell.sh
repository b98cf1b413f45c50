#!/bin/sh
# A shell script that uses Python for the difficult part.
set -e
cat >convert.py <<'PY'
import json
import sys

rows = [line.split() for line in sys.stdin if line.strip()]
json.dump([{"name": n, "value": int(v)} for n, v in rows], sys.stdout, indent=1)
print()
PY
printf 'alpha 1\nbeta 20\n\ngamma 300\n' | python3 convert.py >values.json
cat values.json
python3 -c 'import json; print(sum(v["value"] for v in json.load(open("values.json"))))'
if ! python3 convert.py </dev/null | grep -q alpha; then
	echo "no alpha in empty input"
fi
