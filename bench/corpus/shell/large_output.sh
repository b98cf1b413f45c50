#!/bin/sh
# Prints about 80 KB.
i=0
while [ $i -lt 1000 ]; do
	echo "line $i: the quick brown fox jumps over the lazy dog"
	i=$((i + 1))
done
seq 1 5000 | paste -s -d ' ' -
echo "finished" >&2
exit 0
