import atexit
import sys


def check(name, condition):
    print(f"{'PASS' if condition else 'FAIL'}: {name}")
    return condition


atexit.register(lambda: print("cleaning up"))
results = [
    check("addition", 1 + 1 == 2),
    check("string", "abc".upper() == "ABC"),
    check("rounding", round(2.675, 2) == 2.68),
    check("sorting", sorted([3, 1, 2]) == [1, 2, 3]),
    check("division", 7 // -2 == -3),
]
failed = results.count(False)
print(f"{len(results) - failed} passed, {failed} failed", file=sys.stderr)
sys.exit(10 + failed)
