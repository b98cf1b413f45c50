import os
from collections import Counter

# Build a sample project tree
structure = {
    "src/app.py": "import os\n\ndef main():\n    pass\n",
    "src/util/strings.py": "def upper(s):\n    return s.upper()\n",
    "src/util/__init__.py": "",
    "tests/test_app.py": "def test_main():\n    assert True\n",
    "docs/index.md": "# Title\n\nSome text.\n",
    "docs/api/reference.md": "## Reference\n",
    "README.md": "# Project\n",
    "setup.cfg": "[metadata]\nname = demo\n",
}
for name, text in structure.items():
    path = os.path.join("project", name)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w") as f:
        f.write(text)

by_extension = Counter()
line_counts = {}
for root, dirs, files in os.walk("project"):
    dirs.sort()
    for file in sorted(files):
        full = os.path.join(root, file)
        ext = os.path.splitext(file)[1] or "(none)"
        by_extension[ext] += 1
        with open(full) as f:
            line_counts[os.path.relpath(full, "project")] = sum(1 for _ in f)

print("Files by extension:")
for ext, count in sorted(by_extension.items()):
    print(f"  {ext:8} {count}")
print("\nLines per file:")
for name, count in sorted(line_counts.items(), key=lambda item: (-item[1], item[0])):
    print(f"  {count:4d}  {name}")
print(f"\nTotal: {sum(line_counts.values())} lines in {len(line_counts)} files")
