#!/bin/sh
# Count the words of a text and print the most frequent ones.
set -eu
cat >text.txt <<'TXT'
the quick brown fox jumps over the lazy dog
the dog sleeps and the fox runs
a quick dog is a happy dog
TXT
echo "lines: $(wc -l <text.txt | tr -d ' ')"
tr ' ' '\n' <text.txt | sort | uniq -c | sort -k1,1nr -k2 | head -n 4 | while read -r count word; do
	printf '%-8s %d\n' "$word" "$count"
done
