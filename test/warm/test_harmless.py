"""What src/warm/harmless.h says is harmless, asked of an interpreter: python3 test/warm/test_harmless.py"""

import importlib
import io
import os
import re
import sys
import types

HERE = os.path.dirname(os.path.abspath(__file__))
TEXT = open(os.path.join(HERE, "../../src/warm/harmless.h")).read()
BAD = (types.ModuleType, types.FrameType, types.CodeType, types.GeneratorType, io.IOBase)


def table():
    """{module: names}"""
    body = TEXT[TEXT.index("harmless_modules[] = {") : TEXT.index("};", TEXT.index("harmless_modules[] = {"))]
    rows = re.findall(r'\{"(\w+)",\s*((?:"[^"]*"\s*)+)\}', body)
    assert len(rows) == body.count("{") - 1, "each row is read"
    return {name: "".join(re.findall(r'"([^"]*)"', names)).split() for name, names in rows}


def words(macro):
    body = TEXT[TEXT.index("#define " + macro) :].split("\n\n")[0]
    return "".join(re.findall(r'"([^"]*)"', body)).split()


def reach(thing):
    """All that attributes without two underscores lead to from here; and a class's own, and those it is of."""
    seen, todo = {}, [(thing, "")]
    while todo:
        one, path = todo.pop()
        if id(one) in seen or len(seen) > 20000:
            continue
        seen[id(one)] = one
        yield one, path
        for name in dir(one):
            if "__" in name or isinstance(one, (str, int, float, bytes, tuple, list, dict)) and path.count(".") > 2:
                continue
            try:
                value = getattr(one, name)
            except Exception:
                continue
            if not isinstance(value, (str, int, float, bytes)):
                todo.append((value, path + "." + name))


def main():
    wrong = []
    for module, names in table().items():
        m = importlib.import_module(module)
        assert names == sorted(names) or len(names) == len(set(names)), module
        for name in names:
            if not hasattr(m, name):
                print(f"this interpreter has no {module}.{name}")
                continue
            for thing, path in reach(getattr(m, name)):
                where = f"{module}.{name}{path}"
                if isinstance(thing, BAD):
                    wrong.append(f"{where} is {thing!r}")
                if thing is type or isinstance(thing, type) and issubclass(thing, (type, *BAD)):
                    wrong.append(f"{where} makes classes, or is worse: {thing!r}")
                if isinstance(thing, type) and hasattr(thing, "__del__"):
                    wrong.append(f"{where} has an end that is noticed")
    import builtins
    import keyword

    harmful = set(words("HARMFUL_BUILTINS"))
    wrong += [f"{name} is no builtin" for name in harmful - set(dir(builtins))]
    missing = set(keyword.kwlist) | set(getattr(keyword, "softkwlist", []))
    wrong += [f"{name} is a keyword" for name in missing - set(words("KEYWORDS"))]
    for name in ("__del__", "__class__", "__dict__", "__slots__", "__getattr__", "__get__", "__set_name__", "__init_subclass__"):
        if name in words("HARMLESS_DUNDERS"):
            wrong.append(name)
    print("\n".join(wrong) or "ok")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
