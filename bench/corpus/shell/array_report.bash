#!/bin/bash
set -euo pipefail

declare -A stock=([apples]=12 [pears]=0 [plums]=7)
names=(apples pears plums)

for name in "${names[@]}"; do
    if ((stock[$name] == 0)); then
        status="out of stock"
    else
        status="available"
    fi
    printf '%-8s %3d  %s\n' "$name" "${stock[$name]}" "$status"
done

total=0
for count in "${stock[@]}"; do
    ((total += count))
done
echo "total: $total in ${#stock[@]} kinds"
echo "last two: ${names[@]: -2}"
sorted=($(printf '%s\n' "${names[@]}" | sort -r))
echo "reversed: ${sorted[*]}"
upper="${names[0]^^}"
echo "$upper ${upper,,} ${upper:1:3} ${upper/AP/XX}"
