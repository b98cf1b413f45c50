import contextlib
import io
import os


class Transaction:
    def __init__(self, name):
        self.name = name

    def __enter__(self):
        print("begin", self.name)
        return self

    def __exit__(self, kind, value, trace):
        print("rollback" if kind else "commit", self.name)
        return kind is KeyError


@contextlib.contextmanager
def working_directory(path):
    before = os.getcwd()
    os.makedirs(path, exist_ok=True)
    os.chdir(path)
    try:
        yield path
    finally:
        os.chdir(before)


with Transaction("one"):
    pass
with Transaction("two"):
    raise KeyError("suppressed")
try:
    with Transaction("three"):
        raise ValueError("passed on")
except ValueError as e:
    print("caught", e)

with working_directory("sub/dir") as path:
    with open("here.txt", "w") as f:
        f.write(path)
print(os.path.exists("sub/dir/here.txt"), os.path.basename(os.getcwd()) != "dir")

buffer = io.StringIO()
with contextlib.redirect_stdout(buffer), contextlib.suppress(ZeroDivisionError):
    print("captured")
    1 / 0
print("buffer:", repr(buffer.getvalue()))
with contextlib.ExitStack() as stack:
    for i in range(3):
        stack.callback(print, "callback", i)
