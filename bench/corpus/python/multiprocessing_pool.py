import multiprocessing


def is_prime(n):
    if n < 2:
        return False
    return all(n % d for d in range(2, int(n**0.5) + 1))


def count_primes(bounds):
    low, high = bounds
    return low, sum(is_prime(n) for n in range(low, high))


if __name__ == "__main__":
    chunks = [(start, start + 500) for start in range(0, 3000, 500)]
    with multiprocessing.Pool(processes=2) as pool:
        results = pool.map(count_primes, chunks)
    for low, count in results:
        print(f"{low:5d}..{low + 499}: {count} primes")
    print("total:", sum(count for _, count in results))
