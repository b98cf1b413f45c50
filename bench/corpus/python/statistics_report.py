import math
import random
import statistics

random.seed(42)
heights = [round(random.gauss(172, 9), 1) for _ in range(200)]
weights = [round(0.9 * (h - 100) + random.gauss(0, 6), 1) for h in heights]


def histogram(values, bins=8, width=40):
    low, high = min(values), max(values)
    step = (high - low) / bins
    counts = [0] * bins
    for v in values:
        counts[min(int((v - low) / step), bins - 1)] += 1
    for i, count in enumerate(counts):
        print(f"{low + i * step:6.1f} | {'#' * (count * width // max(counts))} {count}")


def pearson(xs, ys):
    mx, my = statistics.fmean(xs), statistics.fmean(ys)
    cov = sum((x - mx) * (y - my) for x, y in zip(xs, ys))
    return cov / math.sqrt(sum((x - mx) ** 2 for x in xs) * sum((y - my) ** 2 for y in ys))


histogram(heights)
print(f"mean {statistics.fmean(heights):.2f}, median {statistics.median(heights)}, stdev {statistics.stdev(heights):.2f}")
print("quartiles:", [round(q, 2) for q in statistics.quantiles(heights, n=4)])
print("mode of rounded:", statistics.mode(round(h) for h in heights))
print(f"correlation: {pearson(heights, weights):.3f}")
