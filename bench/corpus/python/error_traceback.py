"""A program with a bug: the traceback is on stderr, the exit status is 1."""


def load_prices():
    return {"apple": "1.20", "pear": "0.95", "plum": "n/a"}


def parse(prices):
    result = {}
    for name, text in prices.items():
        result[name] = float(text)
        print(f"parsed {name}: {result[name]}")
    return result


def main():
    prices = parse(load_prices())
    print("total:", sum(prices.values()))


if __name__ == "__main__":
    main()
