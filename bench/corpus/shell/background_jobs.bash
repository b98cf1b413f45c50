#!/bin/bash
work() {
    local id=$1 code=$2
    echo "job $id" >"job-$id.out"
    return "$code"
}

pids=()
for i in 1 2 3 4; do
    work "$i" $((i == 3 ? 5 : 0)) &
    pids+=($!)
done

failed=0
for i in "${!pids[@]}"; do
    if wait "${pids[$i]}"; then
        echo "job $((i + 1)) succeeded"
    else
        echo "job $((i + 1)) failed with $?"
        failed=$((failed + 1))
    fi
done
cat job-*.out
exec 3< <(printf 'a\nb\n')
read -r first <&3
echo "first: $first"
((failed == 0)) || exit 1
