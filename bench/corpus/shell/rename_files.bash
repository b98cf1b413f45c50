#!/bin/bash
set -euo pipefail
shopt -s nullglob
mkdir photos && cd photos
touch "IMG 001.JPG" "IMG 002.JPG" "scan.pdf" "notes (final).txt"

count=0
for file in *; do
    new=${file,,}
    new=${new// /_}
    new=${new//[()]/}
    new=${new/.jpg/.jpeg}
    if [[ $new != "$file" ]]; then
        mv -- "$file" "$new"
        echo "$file -> $new"
        ((++count))
    fi
done
echo "$count renamed"
ls
for missing in *.png; do
    echo "never: $missing"
done
