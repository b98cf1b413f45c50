"""The examples of the documents: each is run as it is printed, and must print what the document says."""

import os
import re
import subprocess

import support
from documents import ROOT, codes, matches, parse
from support import ensure, fail, same, test

# The documents with examples, and the users who run them.  Without cgroups an ordinary user has no limits on memory and CPUs.
DOCUMENTS = {"doc/cookbook.md": ("root", "user"), "doc/best-practices.md": ("root",), "doc/troubleshooting.md": ("root",), "doc/coverage.md": ("root",)}
PATIENCE = 100  # seconds for one example
PARSED = {path: parse(path) for path in DOCUMENTS}


def run_example(d, path, example, before):
    def local(text):
        return text.replace("localhost:7070", f"localhost:{d.port}")

    if example.name:
        os.makedirs(os.path.dirname(example.name) or ".", exist_ok=True)
        support.write(example.name, local(example.text))
        return
    where = f"{path}:{example.line}\n{example.text}"
    env = {**os.environ, "PATH": f"{os.path.dirname(support.command[-1])}:{os.environ['PATH']}", "CELLA_SOCKET": d.unix, "CELLA_STATE": d.state}
    p = subprocess.run(["sh", "-c", local(before + example.text)], env=env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                       timeout=PATIENCE * support.slack, check=False)  # fmt: skip
    printed = p.stdout.decode(errors="backslashreplace")
    if example.output is None:
        same(p.returncode, 0, f"exit status of {where}\nwhich printed {printed}\nthat")
    elif not matches(example, printed):
        fail(f"{where}\nshould print\n{example.output}\nand printed\n{printed}")


def add_section(path, title, examples):
    def run_section(d):
        os.mkdir("examples")
        os.chdir("examples")
        for example in examples:
            run_example(d, path, example, PARSED[path].before)

    stem = os.path.basename(path).removesuffix(".md").replace("-", "_")
    test(run_section, name=f"{stem}_{re.sub('[^a-z0-9]+', '_', title.lower()).strip('_')}", users=DOCUMENTS[path], timeout=600, unwrapped=True)


for document, parsed in PARSED.items():
    for section, its_examples in parsed.sections.items():
        if its_examples:
            add_section(document, section, its_examples)


def literals():
    """The string constants of the C code, with … for each conversion."""
    found = []
    for path in (*ROOT.glob("src/**/*.[ch]"), *ROOT.glob("include/*.h")):
        for strings in re.findall(r'"(?:[^"\\\n]|\\.)*"(?:\s*"(?:[^"\\\n]|\\.)*")*', path.read_text()):
            text = "".join(re.findall(r'"((?:[^"\\\n]|\\.)*)"', strings)).replace('\\"', '"')
            found.append(re.sub(r"%[-0-9.*]*(?:ll|z|h)?[a-zA-Z]", "…", text))
    return found


LITERALS = literals()


@test(users=("root",))
def messages_in_troubleshooting_exist():
    missing = []
    for _, rows in PARSED["doc/troubleshooting.md"].tables:
        for message in (m for row in rows for m in codes(row.get("message", ""))):
            parts = [re.escape(part) for part in message.split("…") if part.strip()]
            if not any(re.search(".*".join(parts), text, re.DOTALL) for text in LITERALS):
                missing.append(message)
    same(missing, [], "messages that no source file has")


def errors_of_the_code():
    """Returns the messages of errors, without those that only the general rows explain (invalid_request, internal), and those with a text from elsewhere."""
    for path in sorted((ROOT / "src").rglob("*.c")):
        for call, kind, rest in re.findall(r"(err_(?:say|set))\([^;]*?CELLA_([A-Z_]+),([^;]*?);", path.read_text(), re.DOTALL):
            message = re.sub(r"%(?:%|[-.*\d]*(?:ll|z|l)?[a-z])", "X", "".join(re.findall(r'"((?:[^"\\]|\\.)*)"', rest)))
            if kind not in ("INVALID_REQUEST", "INTERNAL", "OK") and call and re.search(r"[a-z]{3}.* ", message):
                yield message


@test(users=("root",))
def every_error_is_in_troubleshooting():
    known = [m for _, rows in PARSED["doc/troubleshooting.md"].tables for row in rows for m in [*codes(row.get("message", "")), row.get("message", "")] if len(m) > 5]
    patterns = [".*".join(re.escape(part) for part in m.split("…") if part.strip()) for m in known]
    found = list(errors_of_the_code())
    ensure(len(found) > 250, f"messages in the code: {len(found)}")
    same([m for m in found if not any(re.search(p, m) for p in patterns)], [], "messages that troubleshooting.md does not have")


@test(users=("root",))
def every_kind_and_status_is_in_troubleshooting():
    text = (ROOT / "doc/troubleshooting.md").read_text()
    sources = "".join((ROOT / "src" / name).read_text() for name in ("base/err.c", "engine/verdict.c"))
    names = re.findall(r'\[CELLA_\w+\] = "(\w+)"', sources)
    ensure(len(names) > 18, f"kinds and statuses in the code: {names}")
    same([n for n in names if n != "ok" and f"`{n}`" not in text], [], "kinds and statuses that are missing")


@test(users=("root",))
def figures_of_best_practices_are_those_of_performance():
    known = (ROOT / "doc/performance.md").read_text()
    figures = [f for _, rows in PARSED["doc/best-practices.md"].tables for row in rows for f in re.findall(r"\d[\d.,]*(?= ms| KiB| GiB/s| x\b)", row.get("measured", ""))]
    ensure(len(figures) > 9, f"figures in best-practices.md: {figures}")
    same([f for f in figures if not re.search(rf"(?<![\d.]){re.escape(f)}(?![\d])", known)], [], "figures that performance.md does not have")


@test(users=("root",))
def links_between_documents_lead_to_files():
    for path in (*ROOT.glob("*.md"), *ROOT.glob("doc/*.md"), *ROOT.glob("examples/*.md")):
        for target in re.findall(r"\]\(([^)#:\s]+)[^)\s]*\)", re.sub(r"(?ms)^```.*?^```", "", path.read_text())):
            ensure((path.parent / target).exists(), f"{path.name} has a link to {target}")


@test(users=("root",))
def every_feature_of_coverage_is_shown_or_said_to_be_missing():
    for _, rows in PARSED["doc/coverage.md"].tables:
        for row in rows:
            shown = row["command"]
            ensure(set(row["interfaces"].split(", ")) <= {"", "CLI", "HTTP", "MCP", "web"}, f"interfaces of {row}")
            ensure(bool(codes(shown)) == bool(codes(row["prints"])), f"a command and what it prints: {row}")
            ensure(codes(shown) or shown.startswith("not yet") or re.search(r"\]\(|shown by |needs a ", shown), f"how it is shown: {row}")
            for name in re.findall(r"test_\w+\.py", shown):
                ensure(list(ROOT.glob(f"test/**/{name}")), f"a test that does not exist: {row}")
