#!/bin/bash
set -euo pipefail
log=app.log
for i in $(seq 1 60); do
    level=INFO
    ((i % 7 == 0)) && level=WARN
    ((i % 20 == 0)) && level=ERROR
    printf '2024-04-01 10:%02d:00 [%s] request %d took %d ms\n' $((i % 60)) "$level" "$i" $((i * 37 % 211))
done >"$log"

echo "levels:"
grep -o '\[[A-Z]*\]' "$log" | sort | uniq -c | awk '{ print "  " $2, $1 }'

slowest=0
while read -r _ _ _ _ id _ ms _; do
    if ((ms > slowest)); then
        slowest=$ms
        which=$id
    fi
done <"$log"
echo "slowest: request $which with $slowest ms"

regex='\[ERROR\] request ([0-9]+)'
while IFS= read -r line; do
    if [[ $line =~ $regex ]]; then
        echo "error in request ${BASH_REMATCH[1]}"
    fi
done <"$log"
average=$(awk '{ s += $(NF-1) } END { printf "%.1f", s / NR }' "$log")
echo "average: $average ms"
