import itertools
import operator


def primes():
    found = []
    for n in itertools.count(2):
        if all(n % p for p in itertools.takewhile(lambda p: p * p <= n, found)):
            found.append(n)
            yield n


def fibonacci():
    a, b = 0, 1
    while True:
        yield a
        a, b = b, a + b


print("primes:", list(itertools.islice(primes(), 15)))
print("even fibonacci:", list(itertools.takewhile(lambda n: n < 5000, (f for f in fibonacci() if f % 2 == 0))))
print("permutations:", ["".join(p) for p in itertools.permutations("abc")])
print("pairs:", list(itertools.combinations(range(4), 2)))
print("cumulative:", list(itertools.accumulate([3, 1, 4, 1, 5], operator.mul)))

words = sorted(["apple", "avocado", "banana", "blueberry", "cherry", "cranberry"], key=lambda w: (w[0], len(w)))
for letter, group in itertools.groupby(words, key=operator.itemgetter(0)):
    print(letter, list(group))
print("chained:", list(itertools.chain.from_iterable([[1, 2], [3], []])))
print("zipped:", list(itertools.zip_longest("ab", "xyz", fillvalue="-")))
