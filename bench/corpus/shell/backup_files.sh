#!/bin/sh
# Copy changed files to a backup directory and report what was done.
set -e
mkdir -p data backup
for i in 1 2 3 4; do
	echo "record $i" >"data/file$i.txt"
done
cp data/file1.txt data/file2.txt backup/
echo "changed" >>data/file2.txt

copied=0
same=0
for file in data/*.txt; do
	name=$(basename "$file")
	if [ -f "backup/$name" ] && cmp -s "$file" "backup/$name"; then
		same=$((same + 1))
		echo "unchanged: $name"
	else
		cp "$file" "backup/$name"
		copied=$((copied + 1))
		echo "copied:    $name"
	fi
done
echo "$copied copied, $same unchanged"
diff -r data backup && echo "backup is complete"
