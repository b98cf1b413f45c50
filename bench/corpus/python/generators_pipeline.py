def read_lines(text):
    for line in text.splitlines():
        print("read:", line)
        yield line


def parse(lines):
    for line in lines:
        if not line or line.startswith("#"):
            continue
        key, _, value = line.partition("=")
        yield key.strip(), value.strip()


def take(n, iterable):
    for _, item in zip(range(n), iterable):
        yield item


def running_average():
    total = count = 0
    average = None
    while True:
        value = yield average
        total += value
        count += 1
        average = total / count


SOURCE = "# settings\nhost = localhost\n\nport = 80\ndebug = true\nunused = 1"
print(dict(take(2, parse(read_lines(SOURCE)))))

averager = running_average()
next(averager)
print([round(averager.send(x), 2) for x in (10, 20, 60, 5)])
averager.close()


def tree():
    yield 1
    inner = yield from branch()
    yield inner


def branch():
    yield 2
    return "from the branch"


print(list(tree()))
squares = (n * n for n in range(1_000_000))
print(next(s for s in squares if s > 5000))
