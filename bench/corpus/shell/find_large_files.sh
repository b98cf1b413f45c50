#!/bin/sh
set -eu
mkdir -p tree/a/b tree/c
head -c 5000 /dev/zero >tree/a/large.bin
head -c 100 /dev/zero >tree/a/small.bin
head -c 20000 /dev/zero >tree/a/b/huge.bin
echo "text" >tree/c/note.txt
touch tree/c/empty

echo "files larger than 1 KiB:"
find tree -type f -size +1k | sort | while IFS= read -r f; do
	printf '  %6d %s\n' "$(wc -c <"$f")" "$f"
done
echo "empty: $(find tree -type f -empty)"
echo "directories: $(find tree -type d | wc -l | tr -d ' ')"
find tree -name '*.bin' -exec rm {} +
echo "left: $(find tree -type f | sort | xargs)"
