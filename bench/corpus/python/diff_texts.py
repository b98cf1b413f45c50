import difflib
import sys

old = """def greet(name):
    print("Hello " + name)

def main():
    greet("world")
    return 0
""".splitlines(keepends=True)
new = """def greet(name, punctuation="!"):
    print(f"Hello {name}{punctuation}")

def main():
    greet("world")
    greet("everyone", "?")
    return 0
""".splitlines(keepends=True)

sys.stdout.writelines(difflib.unified_diff(old, new, "a/hello.py", "b/hello.py"))
matcher = difflib.SequenceMatcher(None, "".join(old), "".join(new))
print(f"similarity: {matcher.ratio():.3f}")
for tag, i1, i2, j1, j2 in difflib.SequenceMatcher(None, old, new).get_opcodes():
    print(f"{tag:8} old[{i1}:{i2}] new[{j1}:{j2}]")
print(difflib.get_close_matches("pyhton", ["python", "perl", "ruby", "pytorch"]))
