// examples.js -- example programs. Each needs only the standard library of its language.

const python = [
    ["Hello", `# Runs in a sandbox made for it: no network, no access to this machine.
import os, platform

print("Hello from", platform.node(), "as uid", os.getuid())
print("Files here:", os.listdir("."))

6 * 7   # the value of the last line is shown, too
`],
    ["A plot", `# What has _repr_svg_ or _repr_png_ is shown as a picture,
# and so are the figures of matplotlib, where it is installed.
from math import cos, exp, pi, sin

class Plot:
    colours = ["#0f9b8e", "#d1683c", "#5b6ee1"]

    def __init__(self, *curves):
        self.curves = curves

    def path(self, f, colour):
        xs = range(0, 561, 4)
        points = [f"{x + 20} {110 - 80 * f(x / 560 * 4 * pi):.1f}"
                  for x in xs]
        return (f'<path d="M{" L".join(points)}" fill="none" '
                f'stroke="{colour}" stroke-width="2.5"/>')

    def _repr_svg_(self):
        lines = map(self.path, self.curves, self.colours)
        return ('<svg xmlns="http://www.w3.org/2000/svg" '
                'width="600" height="220" viewBox="0 0 600 220">'
                + "".join(lines) + "</svg>")

print("three waves")
Plot(sin, lambda x: sin(2 * x) / 2, lambda x: exp(-x / 6) * cos(3 * x))
`],
    ["A table", `# What has _repr_html_ is shown as a table:
# a DataFrame of pandas, or this.
class Table:
    def __init__(self, rows):
        self.rows = rows

    def row(self, cells, tag):
        return "<tr>" + "".join(f"<{tag}>{c}</{tag}>" for c in cells)

    def _repr_html_(self):
        head = self.row(self.rows[0], "th")
        body = "".join(self.row(r.values(), "td") for r in self.rows)
        return f"<table><thead>{head}</thead>{body}</table>"

def is_prime(n):
    return n > 1 and all(n % d for d in range(2, n))

Table([{"n": n, "squared": n ** 2, "2 to the n": 2 ** n,
        "prime": is_prime(n)} for n in range(1, 11)])
`],
    ["Files", `# What it writes can be downloaded below.
import csv, json, random

random.seed(1)
rows = [{"day": day, "visits": random.randrange(100, 999)} for day in range(1, 8)]

with open("visits.csv", "w", newline="") as f:
    out = csv.DictWriter(f, ["day", "visits"])
    out.writeheader()
    out.writerows(rows)

with open("summary.json", "w") as f:
    json.dump({"days": len(rows), "total": sum(r["visits"] for r in rows)}, f, indent=2)

print("written")
`],
    ["Output as it comes", `import sys, time

for i in range(1, 11):
    print(f"\\x1b[36mstep {i}\\x1b[0m of 10")
    if i % 4 == 0:
        print("this goes to stderr", file=sys.stderr)
    time.sleep(0.3)
`],
    ["What is refused", `# None of this works from inside. The refusals are listed below.
import ctypes, socket

try:
    socket.create_connection(("example.com", 443), timeout=2)
except OSError as e:
    print("network:", e)

libc = ctypes.CDLL(None, use_errno=True)
print("mount:", libc.mount(b"none", b"/mnt", b"tmpfs", 0, None), "errno", ctypes.get_errno())

for path in ("/root", "/home", "/var/lib", "/etc/shadow"):
    try:
        print(path, open(path).read(10))
    except OSError as e:
        print(f"{path}: {e.strerror}")
`],
    ["Too much memory", `# Its limit ends it; the result says so, from the kernel's own counters.
blocks = []
while True:
    blocks.append(bytearray(64 * 1024 * 1024))
    print(len(blocks) * 64, "MiB", flush=True)
`],
];

const node = [
    ["Hello", `// Runs in a sandbox made for it: no network, no access to this machine.
const os = require('os');

console.log('Hello from', os.hostname(), 'with Node', process.version);
[1, 2, 3].map((n) => n * n)
`],
    ["Files", `// What it writes can be downloaded below.
const fs = require('fs');

const rows = Array.from({length: 10}, (_, i) => [i, i * i].join(','));
fs.writeFileSync('squares.csv', 'n,square\\n' + rows.join('\\n') + '\\n');
console.log('written');
`],
    ["Output as it comes", `const wait = (ms) => new Promise((done) => setTimeout(done, ms));

for (let i = 1; i <= 10; i++) {
  console.log(\`step \${i} of 10\`);
  await wait(300);
}
`],
];

const shell = [
    ["Hello", `# Runs in a sandbox made for it: no network, no access to this machine.
echo "Hello from $(hostname), I am $(id -un)"
ls -la /
df -h /workspace | tail -1
`],
    ["Files", `# What it writes can be downloaded below.
for i in 1 2 3; do
  echo "line $i" >> notes.txt
done
tar czf notes.tar.gz notes.txt
ls -l
`],
    ["Processes", `# It sees only itself.
ps -ef
echo "$(nproc) cores, $(ulimit -n) open files at most"
`],
];

// A first line for each other runtime.
const SNIPPETS = {
    go: `package main

import "fmt"

func main() {
	fmt.Println("Hello from Go, compiled in the sandbox")
}
`,
    rust: `fn main() {
    let squares: Vec<u32> = (1..=5).map(|n| n * n).collect();
    println!("Hello from Rust: {squares:?}");
}
`,
    c: `#include <stdio.h>

int main(void)
{
    printf("Hello from C, compiled in the sandbox\\n");
    return 0;
}
`,
    "c++": `#include <iostream>
#include <vector>

int main() {
    for (int n : std::vector{1, 2, 3})
        std::cout << n * n << "\\n";
}
`,
    java: `public class Main {
    public static void main(String[] args) {
        System.out.println("Hello from Java " + Runtime.version());
    }
}
`,
    perl: "print \"Hello from Perl $^V\\n\";\n",
    ruby: "puts \"Hello from Ruby #{RUBY_VERSION}\"\n",
    php: "echo \"Hello from PHP \", PHP_VERSION, \"\\n\";\n",
    lua: "print(\"Hello from \" .. _VERSION)\n",
    tclsh: "puts \"Hello from Tcl [info patchlevel]\"\n",
    awk: "BEGIN { print \"Hello from awk\"; for (i = 1; i <= 3; i++) print i, i * i }\n",
    Rscript: "print(summary(c(1, 2, 3, 10)))\n",
};

export const snippetOf = (runtime) => SNIPPETS[runtime.replace(/[\d.]+$/, "")] ?? "";

// Languages in the order of the menu. runtimes: the daemon's runtimes for it, runtime: the default one.
export const LANGUAGES = [
    {id: "python", label: "Python", runtime: "python3", runtimes: /^(python|pypy)/, examples: python},
    {id: "node", label: "Node", runtime: "node", runtimes: /^node/, examples: node},
    {id: "shell", label: "Shell", runtime: "bash", runtimes: /^(sh|bash|zsh)$/, examples: shell},
    {id: "other", label: "More", runtime: null, runtimes: /^(?!(python|pypy|node)|(sh|bash|zsh)$)/, examples: []},
];
