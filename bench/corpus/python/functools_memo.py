import functools
import time


def timed(function):
    @functools.wraps(function)
    def wrapper(*args, **kwargs):
        begin = time.perf_counter()
        try:
            return function(*args, **kwargs)
        finally:
            wrapper.seconds += time.perf_counter() - begin
            wrapper.calls += 1

    wrapper.calls, wrapper.seconds = 0, 0.0
    return wrapper


@functools.lru_cache(maxsize=None)
def fib(n):
    return n if n < 2 else fib(n - 1) + fib(n - 2)


@timed
def edit_distance(a, b):
    """Levenshtein distance, one row at a time."""
    row = list(range(len(b) + 1))
    for i, x in enumerate(a, 1):
        last, row[0] = row[0], i
        for j, y in enumerate(b, 1):
            last, row[j] = row[j], min(row[j] + 1, row[j - 1] + 1, last + (x != y))
    return row[-1]


@functools.singledispatch
def describe(value):
    return f"something: {value}"


@describe.register
def _(value: int):
    return f"integer {value}"


@describe.register
def _(value: list):
    return f"list of {len(value)}"


print(fib(90), fib.cache_info())
print([edit_distance(a, b) for a, b in (("kitten", "sitting"), ("flaw", "lawn"), ("", "abc"))])
print(edit_distance.__name__, edit_distance.calls, edit_distance.seconds > 0)
print(describe(3), "|", describe([1, 2]), "|", describe("x"))
print(functools.reduce(lambda a, b: a * b, range(1, 11)), functools.partial(int, base=2)("101101"))
