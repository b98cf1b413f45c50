#!/bin/sh
cat >sales.csv <<'CSV'
date,region,amount
2024-01-01,north,120.50
2024-01-02,south,80.00
2024-01-02,north,99.99
2024-01-03,east,45.10
2024-01-04,south,210.40
CSV
awk -F, 'NR > 1 { sum[$2] += $3; n[$2]++ }
END { for (r in sum) printf "%s %d %.2f\n", r, n[r], sum[r] }' sales.csv | sort
echo "---"
cut -d, -f2 sales.csv | tail -n +2 | sort -u | paste -s -d ' ' -
sed -n 's/^2024-01-02,\([a-z]*\),\(.*\)$/\1 sold \2/p' sales.csv
grep -c south sales.csv
