import traceback


class ConfigError(Exception):
    def __init__(self, key, reason):
        super().__init__(f"{key}: {reason}")
        self.key = key


def read_port(config):
    try:
        return int(config["port"])
    except KeyError as e:
        raise ConfigError("port", "missing") from e
    except ValueError as e:
        raise ConfigError("port", "not a number") from e


for config in ({"port": "8080"}, {"port": "http"}, {}):
    try:
        print("port:", read_port(config))
    except ConfigError as e:
        print(f"{type(e).__name__}: {e} (caused by {type(e.__cause__).__name__})")
    else:
        print("no error")
    finally:
        print("checked", config)

try:
    [1, 2, 3][10]
except IndexError:
    print(traceback.format_exc().splitlines()[-1])


def cleanup():
    try:
        return "returned"
    finally:
        print("cleanup runs first")


print(cleanup())
raise ConfigError("host", "unknown") from OSError(2, "No such file or directory")
