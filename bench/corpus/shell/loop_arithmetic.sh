#!/bin/sh
is_prime() {
	n=$1
	[ "$n" -ge 2 ] || return 1
	d=2
	while [ $((d * d)) -le "$n" ]; do
		[ $((n % d)) -ne 0 ] || return 1
		d=$((d + 1))
	done
}

primes=
i=0
while [ $i -le 100 ]; do
	if is_prime $i; then primes="$primes $i"; fi
	i=$((i + 1))
done
echo "primes:$primes"

a=0 b=1
for _ in 1 2 3 4 5 6 7 8 9 10; do
	printf '%d ' $a
	c=$((a + b)) a=$b b=$c
done
echo
gcd() { if [ "$2" -eq 0 ]; then echo "$1"; else gcd "$2" $(($1 % $2)); fi; }
echo "gcd: $(gcd 1071 462)"
printf '%05.2f|%-6s|%x\n' 3.14159 abc 255
