#!/bin/bash
set -eu
cat >people.tsv <<'TSV'
id	name	city	age
1	Ann	Oslo	31
2	Bob	Rome	25
3	Cid	Oslo	47
4	Dee	Paris	38
TSV

echo "== by age"
tail -n +2 people.tsv | sort -t $'\t' -k4,4nr | cut -f2,4 | tr '\t' ' '
echo "== by city"
awk -F'\t' 'NR > 1 { names[$3] = names[$3] (names[$3] ? "," : "") $2 }
    END { for (c in names) print c ": " names[c] }' people.tsv | sort
echo "== as JSON"
tail -n +2 people.tsv | while IFS=$'\t' read -r id name city age; do
    printf '{"id":%d,"name":"%s","city":"%s","age":%d}\n' "$id" "$name" "$city" "$age"
done
echo "== join"
printf 'Oslo NO\nParis FR\nRome IT\n' >countries
tail -n +2 people.tsv | awk -F'\t' '{ print $3, $2 }' | sort | join - countries
rev <<<"reversed" 2>/dev/null || echo desrever
