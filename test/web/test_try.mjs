// "Try it": running code, and that nothing it prints, shows or writes is more than text.
import {readFileSync} from "node:fs";
import {choose, ensure, inTime, output, run, same, sleep, test, until, watchFrames, write} from "./harness.mjs";

test("code runs, and its output, value, status and times are shown", async (t) => {
    const page = await t.page();
    await run(page, "print('six times seven')\n6 * 7");
    same(await output(page), "six times seven", "output");
    same(await page.locator(".result-text").innerText(), "42", "value");
    same(await page.locator(".try-shown .badge").first().innerText(), "Finished", "status");
    await page.getByRole("button", {name: "Compare with a start without Cella"}).click();
    await until(async () => await page.locator(".timing-row").count() === 2, "the time of a bare start is there");
    const [ready, bare] = (await page.locator(".timing-value").allInnerTexts()).map(parseFloat);
    ensure(ready > 0 && bare > 0, `${ready} and ${bare}`);
});

test("output comes while the code runs, and stdout and stderr can be distinguished", async (t) => {
    const page = await t.page();
    await write(page, "import sys, time\nprint('first', flush=True)\nprint('wrong', file=sys.stderr, flush=True)\ntime.sleep(30)");
    await page.click(".run");
    await page.waitForSelector(".out-stdout:has-text('first')");
    await page.waitForSelector(".out-stderr:has-text('wrong')");
    const [a, b] = await page.evaluate(() => [".out-stdout", ".out-stderr"].map((s) => getComputedStyle(document.querySelector(s)).color));
    ensure(a !== b, "both have the same colour");
    ensure(await page.locator(".try-shown[aria-busy]").count() === 1, "it is not shown as running");
    await page.click(".run"); // is Stop now
    await page.waitForSelector(".try-shown:not([aria-busy])");
    same(await page.locator(".try-shown .badge").first().innerText(), "Stopped", "status");
});

test("node and shell run, too", async (t) => {
    const page = await t.page();
    await choose(page, "node");
    await run(page, "console.log('node', 1 + 1)");
    ensure((await output(page)).includes("node 2"), await output(page));
    await choose(page, "shell");
    await run(page, "echo shell; echo $((2 + 3)); exit 4");
    same(await output(page), "shell\n5", "output");
    same(await page.locator(".try-shown .badge").first().innerText(), "Exit code 4", "status");
});

test("a run is one row of the log, and the measurement of a bare start another one only when it is asked for", async (t) => {
    const daemon = await t.newDaemon(), page = await t.page("/", {daemon});
    const rows = async () => (await daemon.api("/v1/executions")).executions.length;
    await run(page, "print(1)");
    await until(async () => await rows() > 0, "the run is in the log");
    await page.getByRole("button", {name: "Compare with a start without Cella"}).waitFor();
    await run(page, "print(2)"); // the log is in order: what the first run started would be in it
    await until(async () => await rows() > 1, "the second run is in the log");
    same(await rows(), 2, "rows");
    await page.getByRole("button", {name: "Compare with a start without Cella"}).click();
    await until(async () => await page.locator(".timing-row").count() === 2, "the comparison");
    await until(async () => await rows() === 3, "the measurement is in the log");
});

test("nothing is above a picture if the code prints nothing, and caches are not listed as results", async (t) => {
    const page = await t.page();
    await run(page, `import os
for path in (".cache/fontconfig", "lib/__pycache__", "out"): os.makedirs(path)
for path in (".cache/fontconfig/a", "lib/__pycache__/b.pyc", "out/result.txt"): open(path, "w").write("x")
class Picture:
    def _repr_svg_(self): return '<svg xmlns="http://www.w3.org/2000/svg" width="30" height="20"/>'
Picture()`);
    await page.locator(".result img").waitFor();
    const [bar, result] = await page.evaluate(() => [document.querySelector(".try-shown .try-bar").getBoundingClientRect().bottom, document.querySelector(".try-shown .result").getBoundingClientRect().top]);
    ensure(result - bar < 4, `${result - bar} pixels are between the bar and the picture`);
    same(await page.locator("section[aria-label='Files that changed'] .mono").allInnerTexts(), ["out/result.txt"], "files");
    await run(page, "print('text')");
    ensure(await page.locator(".output-body").isVisible(), "the output of the next run");
});

test("other installed runtimes are offered, with a first line of code", async (t) => {
    const {runtimes} = await t.daemon.api("/v1/runtimes");
    const names = runtimes.filter(({image}) => image === "host").map(({name}) => name);
    const page = await t.page();
    await choose(page, "other");
    await page.waitForSelector("select[aria-label=Runtime] option", {state: "attached"});
    const offered = await page.locator("select[aria-label=Runtime] option").allInnerTexts();
    same(offered, names.filter((name) => !/^(python|pypy|node)|^(sh|bash|zsh)$/.test(name)), "offered");
    for (const name of ["c", "perl", "awk"].filter((one) => offered.includes(one))) {
        await page.selectOption("select[aria-label=Runtime]", name);
        await run(page);
        ensure((await output(page)).includes("Hello from"), `${name}: ${await output(page)}`);
    }
});

test("every example runs", async (t) => {
    const page = await t.page();
    for (const language of ["python", "node", "shell"]) {
        await choose(page, language);
        for (const name of await page.locator("select[aria-label=Examples] option").allInnerTexts()) {
            if (["Examples", "Output as it comes", "Too much memory"].includes(name)) continue;
            await page.selectOption("select[aria-label=Examples]", {label: name});
            await run(page);
            same(await page.locator(".try-shown .badge").first().innerText(), "Finished", `${language}: ${name}`);
        }
    }
});

test("a limit that ended the code is named", async (t) => {
    const page = await t.page();
    await page.selectOption("select[aria-label=Examples]", {label: "Too much memory"});
    await run(page);
    same(await page.locator(".try-shown .badge").first().innerText(), "Out of memory", "status");
    ensure((await page.locator(".notice").first().innerText()).includes("the kernel killed it"), "no explanation");
});

test("pictures, tables and values are shown; scripts in them do not run", async (t) => {
    const page = await t.page("/", {expects: ["Executing inline event handler violates"]}); // of the document that is only parsed
    await run(page, `
import struct, zlib
class Any:
    def __init__(self, **forms): self.__dict__.update({f"_repr_{k}_": (lambda v: lambda: v)(v) for k, v in forms.items()})
def chunk(kind, data): return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
png = b"\\x89PNG\\r\\n\\x1a\\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", 3, 2, 8, 2, 0, 0, 0)) + chunk(b"IDAT", zlib.compress((b"\\0" + b"\\xff\\0\\0" * 3) * 2)) + chunk(b"IEND", b"")
display(Any(png=png))
display(Any(svg='<svg xmlns="http://www.w3.org/2000/svg" width="30" height="20" onload="window.hacked=1"><script>window.hacked=2; fetch("http://192.0.2.1/")</script><image href="http://192.0.2.1/x.png"/><rect width="30" height="20"/></svg>'))
display(Any(html='<table onclick="window.hacked=3"><thead><tr><th>a<th>b</thead><tr><td>1<td><img src=x onerror="window.hacked=4"><b>two</b><script>window.hacked=5</script></table><iframe srcdoc="<script>parent.hacked=6</script>"></iframe>'))
display(Any(html='<img src=x onerror="window.hacked=7"><p>no table</p>'))
display(Any(json={"k": [1, "<script>"]}))
"<b>text</b>"`);
    await until(async () => (await page.locator(".result img").evaluateAll((all) => all.filter((i) => i.complete).map((i) => [i.naturalWidth, i.naturalHeight]))).join() === "3,2,30,20", "two pictures are loaded");
    same(await page.locator(".result-table th").allInnerTexts(), ["a", "b"], "head of the table");
    same((await page.locator(".result-table td").allInnerTexts())[0], "1", "a cell");
    ensure((await page.locator(".result-table td").nth(1).innerText()).startsWith("two"), "the other cell");
    same(await page.locator(".results iframe, .results script, .results [onclick], .results [onerror], .results b").count(), 0, "elements of the code's own");
    ensure((await page.locator(".results").innerText()).includes("<img src=x onerror"), "HTML without a table is not shown as text");
    ensure((await page.locator(".results").innerText()).includes('"<script>"'), "JSON is not shown");
    ensure((await page.locator(".results").innerText()).includes("<b>text</b>"), "the value is not shown as text");
    await sleep(200);
    same(await page.evaluate(() => window.hacked), undefined, "what ran");
});

test("files that changed are listed and can be downloaded as they are", async (t) => {
    const page = await t.page();
    await run(page, "import os\nopen('data.bin', 'wb').write(bytes(range(256)))\nos.mkdir('sub')\nopen('sub/<b>&.txt', 'w').write('hi')");
    const names = await page.locator("section[aria-label='Files that changed'] .mono").allInnerTexts();
    same(names, ["data.bin", "sub/<b>&.txt"], "files");
    const [download] = await Promise.all([page.waitForEvent("download"), page.click("button[title='Download data.bin']")]);
    same(download.suggestedFilename(), "data.bin", "name");
    same([...readFileSync(await download.path())], Array.from({length: 256}, (_, i) => i), "bytes");
});

test("a kept sandbox has its variables and files in the next run; a fresh one has not", async (t) => {
    const daemon = await t.newDaemon();
    const page = await t.page("/", {daemon, expects: ["404"]});
    await run(page, "x = 5\nopen('f', 'w').write('1')");
    await run(page, "import os\nprint('x' in globals(), os.listdir())");
    same(await output(page), "False []", "fresh");
    await page.check("#keep");
    await run(page, "x = 5\nopen('f', 'w').write('1')");
    await run(page, "import os\nprint(x, os.listdir())");
    same(await output(page), "5 ['f']", "kept");
    const {sandboxes} = await daemon.api("/v1/sandboxes");
    for (const {id} of sandboxes) await daemon.api(`/v1/sandboxes/${id}`, {method: "DELETE"});
    await run(page, "print('again')");
    same(await output(page), "again", "in a new one");
    ensure((await page.locator(".notice").innerText()).includes("no longer exists"), "no notice about the new sandbox");
});

test("refusals are shown in plain words", async (t) => {
    const page = await t.page();
    await run(page, "import ctypes\nctypes.CDLL(None).mount(b'none', b'/mnt', b'tmpfs', 0, None)");
    ensure((await page.locator("section[aria-label='What was refused']").innerText()).includes("It tried to attach a file system. Refused."), "no such words");
});

test("markup, escape sequences and marks of direction in output are text", async (t) => {
    const page = await t.page();
    await run(page, `print("<script>window.hacked=1</script><img src=x onerror='window.hacked=2'>")
print("\\x1b[31mred\\x1b[0m \\x1b]8;;javascript:window.hacked=3\\x07link\\x1b]8;;\\x07 \\x1b]0;title\\x07\\x1b[2J\\x1b[H\\x1b[5;5Hkept")
print("a\\u202egnp.exe\\u202c b\\u200bc \\x00\\x07\\x7f \\u2066x\\u2069")
print("\\x1b[38;2;1;2;3mtrue\\x1b[0m\\x1b[48;5;200mwide\\x1b[m")
print("50%\\r100%")
print("one\\r\\x1b[Ktwo\\r\\r")
import time; print("three", end="\\r", flush=True); time.sleep(0.3); print("four", end="\\r", flush=True); time.sleep(0.3); print()
print("unfinished \\x1b[3", end="")`);
    const text = await output(page);
    ensure(text.includes("<script>window.hacked=1</script><img src=x onerror='window.hacked=2'>"), text);
    ensure(text.includes("red link kept"), `escape sequences: ${text}`);
    same(await page.locator(".out-stdout span:has-text('red')").first().evaluate((e) => e.style.color), "var(--ansi-1)", "red");
    same(await page.locator(".output-body a, .output-body script, .output-body img").count(), 0, "elements of the code's own");
    const marked = await page.locator(".out .unseen").allInnerTexts();
    same(marked, ["U+202E", "U+202C", "U+200B", "␀ ␇ ␡", "U+2066", "U+2069"], "what cannot be seen");
    ensure(!/[\u202a-\u202e\u2066-\u2069\u0000\u0007\u001b]/.test(text), "one of them is in the text");
    ensure(text.includes("100%\ntwo\nfour\n") && !/50%|\bone\b|three/.test(text), `a carriage return does not begin the line anew: ${text}`);
    same(await page.evaluate(() => [window.hacked, document.title.includes("title")]), [undefined, false], "what it did to the page");
});

test("a line of 10 MB, and a million lines, do not freeze the page; all of it can be downloaded", async (t) => {
    const page = await t.page();
    const stoodStill = await watchFrames(page);
    await run(page, "print('x' * 10_000_000 + 'end')");
    const size = await page.evaluate(() => document.querySelector(".output-body").textContent.length);
    ensure(size > 100000 && size < 400000, `${size} characters are in the document`);
    ensure((await output(page)).endsWith("xend"), "its end is not shown");
    const below = await page.evaluate(() => { const b = document.querySelector(".output-body"); return b.scrollHeight - b.scrollTop - b.clientHeight; });
    ensure(below < 40, `its end is ${below} pixels below what can be seen`);
    ensure((await page.locator(".output-note").innerText()).includes("10,000,004"), await page.locator(".output-note").innerText());
    const [download] = await Promise.all([page.waitForEvent("download"), page.click("text=Download all")]);
    same(readFileSync(await download.path()).length, 10000004, "bytes downloaded");
    await run(page, "for i in range(1000000): print(i)");
    ensure((await output(page)).endsWith("999999"), "the last line is not shown");
    ensure(await page.evaluate(() => document.querySelectorAll("*").length) < 20000, "too many elements");
    await run(page, "print('\\x01a' * 500000)"); // each second character has to be marked
    ensure(await page.evaluate(() => document.querySelectorAll("*").length) < 30000, "too many elements");
    const longest = await stoodStill();
    inTime(longest, 10000, "the longest pause of the page");
}, {alone: true});

test("code, output and tables that are slow to render do not freeze the page", async (t) => {
    const page = await t.page(), stoodStill = await watchFrames(page);
    const within = async (what) => {
        const longest = await stoodStill();
        inTime(longest, 20000, `${what}: the longest pause of the page`);
    };
    await write(page, `${"1".repeat(2500)}g`); // digits that turn out to be no number
    await within("code");
    same(await page.locator(".editor-back").innerText(), `${"1".repeat(2500)}g\n`, "what is shown of it");
    await run(page, "import os\nfor _ in range(3): os.write(1, b'\\r' + b'a' * 65535)\nos.write(1, b'end')"); // a carriage return, and a long line after it
    await within("output");
    ensure((await output(page)).endsWith("aend"), "its end is not shown");
    await run(page, "class Table:\n    def _repr_html_(self): return '<table><thead>' + '<tr><th>h' * 10 + '<tr>' * 99990 + '</thead>' + '<tr><td>d' * 200 + '<tr>' * 99800 + '</table>'\nTable()");
    await page.locator(".result-table").waitFor();
    await within("a table");
    same([await page.locator(".result-table th").count(), await page.locator(".result-table td").count()], [10, 200], "rows of it");
    ensure((await page.locator(".result-table figcaption").innerText()).includes("99,800 more rows"), "the number of the other rows is not shown");
    await run(page, "class Long:\n    def _repr_html_(self): return '<table>' + '<tr>' * 700000\nLong()");
    await page.getByText("This HTML is too long to be shown.").waitFor();
    await within("a longer one");
}, {alone: true});

test("an invalid picture and an invalid time are shown as such", async (t) => {
    const page = await t.page();
    same(await page.evaluate(async () => {
        const [{ResultsView}, {timeOf}] = await Promise.all([import("/ui/results.js"), import("/ui/widgets.js")]);
        const view = new ResultsView();
        view.add({value: 1, main: true, mime: "image/png", data: "%%%"});
        document.querySelector("main").append(view.element);
        return [timeOf("1929-11-09T02:18:31.-709Z"), timeOf("2020-01-01T00:00:00Z").dateTime];
    }), ["–", "2020-01-01T00:00:00.000Z"], "times");
    await page.getByText("This picture cannot be shown.").waitFor();
});

test("the editor indents, keeps indentation, runs by Ctrl+Enter, and lets go of the keyboard", async (t) => {
    const page = await t.page();
    await write(page, "");
    await page.focus(".editor-input");
    await page.keyboard.type("if True:");
    await page.keyboard.press("Enter");
    await page.keyboard.type("print(1)");
    same(await page.inputValue(".editor-input"), "if True:\n    print(1)", "after Enter");
    await page.keyboard.press("Control+a");
    await page.keyboard.press("Tab");
    same(await page.inputValue(".editor-input"), "    if True:\n        print(1)", "after Tab");
    await page.keyboard.press("Shift+Tab");
    same(await page.inputValue(".editor-input"), "if True:\n    print(1)", "after Shift+Tab");
    await page.keyboard.press("Control+Enter");
    await until(async () => await output(page) === "1", "it ran");
    await page.focus(".editor-input");
    await page.keyboard.press("Escape");
    await page.keyboard.press("Tab");
    ensure(await page.evaluate(() => !document.activeElement.classList.contains("editor-input")), "Escape and Tab do not leave");
    same(await page.locator(".editor-back .hl-keyword").first().innerText(), "if", "coloured");
});

test("code that is longer and wider than the editor scrolls, and its colours with it", async (t) => {
    const page = await t.page();
    await write(page, "");
    await page.focus(".editor-input");
    for (let i = 0; i < 60; i++) await page.keyboard.press("Enter");
    await page.keyboard.insertText(`x = "${"wide ".repeat(60)}"`);
    const at = await page.evaluate(() => {
        const box = (s) => { const r = document.querySelector(s).getBoundingClientRect(); return [r.left, r.top, r.width, r.height].map(Math.round); };
        const e = document.querySelector(".editor"), i = document.querySelector(".editor-input");
        return {inner: [i.scrollTop, i.scrollLeft], outer: [e.scrollTop > 100, e.scrollLeft > 100], input: box(".editor-input"), back: box(".editor-back")};
    });
    same(at.inner, [0, 0], "the text has scrolled within itself");
    same(at.outer, [true, true], "what is typed is out of sight");
    same(at.input, at.back, "text and colours");
});

test("the text in the editor survives a reload", async (t) => {
    const page = await t.page();
    await write(page, "print('draft')");
    await page.reload();
    await page.waitForSelector(".editor-input");
    same(await page.inputValue(".editor-input"), "print('draft')", "draft");
});

/** The only room there is, once the daemon has looked in a sandbox of its own which interpreters there are, for the page; on a busy
 *  machine that takes a while. */
const taken = (daemon) => until(() => daemon.api("/v1/sandboxes", {method: "POST", body: {}}), "room for one", 60000);

test("a run gets standard input, files by a button and by drag and drop, limits and network; they can be set for a key without sandboxes, too", async (t) => {
    const daemon = await t.newDaemon(), opened = await t.page("/", {daemon, expects: ["401"]});
    await opened.locator(".options summary").click();
    const fill = async (page) => {
        await page.fill("#opt-stdin", "first line\nsecond");
        await page.locator(".options input[type=file]").setInputFiles({name: "data.csv", mimeType: "text/csv", buffer: Buffer.from("a,b\n")});
        await page.evaluate((hostile) => {
            const data = new DataTransfer();
            data.items.add(new File([new Uint8Array([0, 255, 10])], hostile));
            document.querySelector(".try-code").dispatchEvent(new DragEvent("drop", {dataTransfer: data, bubbles: true}));
        }, "<b>\u202e.bin");
        await page.fill("#opt-memory_bytes", "77");
    };
    const code = "import sys, os\nprint(sys.stdin.read(), open('data.csv').read(), list(open('<b>\u202e.bin', 'rb').read()), sep='|')";
    await fill(opened);
    same(await opened.locator(".chip-file .mono").allInnerTexts(), ["data.csv", "<b>U+202E.bin"], "files");
    await run(opened, code);
    same(await output(opened), "first line\nsecond|a,b\n|[0, 255, 10]", "what the code got");
    const {sandboxes} = await daemon.api("/v1/sandboxes");
    same([sandboxes.length, sandboxes[0].limits.memory_bytes], [1, 77 << 20], "limits of the sandbox");
    same(await opened.locator("section[aria-label='Files that changed']").count(), 0, "files that the user gave are listed as changed");
    ensure((await opened.locator(".options summary").innerText()).includes("3 set"), "how many options are set");
    // Without stdin, a context: the same files and limits.
    await opened.fill("#opt-stdin", "");
    await run(opened, "print(open('data.csv').read())\n6 * 7");
    same([await output(opened), await opened.locator(".result-text").innerText()], ["a,b\n", "42"], "in a context");
    await opened.goto("about:blank");
    const {key} = await daemon.api("/v1/keys", {method: "POST", body: {name: "runner", capabilities: ["sandbox.exec"]}});
    const page = await t.page("/", {daemon, expects: ["401", "403"]});
    await page.fill("#key", key);
    await page.keyboard.press("Enter");
    await page.locator(".options summary").click();
    same(await page.locator("#opt-packages").count(), 0, "packages, for a key without sandboxes");
    await fill(page);
    await run(page, code);
    same(await output(page), "first line\nsecond|a,b\n|[0, 255, 10]", "what the code got");
    ensure(await page.locator("#opt-network option[value=elevated]").evaluate((e) => e.disabled), "a tier above that of the key");
});

test("a limit that ended a run leads to its option, and a wrong value is named", async (t) => {
    const page = await t.page();
    await page.locator(".options summary").click();
    await page.fill("#opt-timeout_ms", "1");
    await run(page, "import time\ntime.sleep(60)");
    await page.locator(".options summary").click(); // closes it
    await page.getByRole("button", {name: "Set timeout for the next run"}).click();
    same(await page.evaluate(() => document.activeElement.id), "opt-timeout_ms", "the focus");
    await page.keyboard.type("x");
    await page.click(".run");
    await page.getByText("Timeout: a number above 0 is needed.").waitFor();
    same(await page.getAttribute("#opt-timeout_ms", "aria-invalid"), "true", "marked for a screen reader");
    ensure(await page.locator(".run:not(.button-stop)").isVisible(), "it ran");
    await page.fill("#opt-timeout_ms", "");
    await run(page, "import socket\nsocket.create_connection(('192.0.2.1', 80), 1)");
    await page.getByRole("button", {name: "Set the network for the next run"}).click();
    same(await page.evaluate(() => document.activeElement.id), "opt-network", "the focus");
});

test("packages that cannot be installed are reported, and the code is not run", async (t) => {
    const page = await t.page();
    await page.locator(".options summary").click();
    await page.fill("#opt-packages", "no-such-package-of-cella");
    await run(page, "print('the code ran')");
    ensure(/pip|no-such-package|No module/.test(await page.locator(".output-body").innerText()), await page.locator(".output-body").innerText());
    ensure(!(await page.locator(".output-body").innerText()).includes("the code ran"), "the code ran");
});

test("the elapsed time is shown while code runs, and a run has a link to its row of the log", async (t) => {
    const page = await t.page("/", {permissions: ["clipboard-read", "clipboard-write"]});
    await write(page, "import time\nprint('begun', flush=True)\ntime.sleep(60)");
    await page.click(".run");
    await page.waitForSelector(".out:has-text('begun')");
    const shown = async () => parseFloat(await page.locator(".elapsed").innerText());
    const before = await shown();
    await until(async () => await shown() !== before, "the time goes on");
    await page.click(".run");
    await page.waitForSelector(".run:not(.button-stop)");
    same(await page.locator(".elapsed").count(), 0, "the time of a run that has ended");
    await page.getByRole("button", {name: "Copy link"}).click();
    await page.locator(".toast", {hasText: "Copied"}).waitFor();
    const link = await page.evaluate(() => navigator.clipboard.readText());
    ensure(/^http:\/\/127\.0\.0\.1:\d+\/#\/executions\/exe_\w+$/.test(link), link);
    const other = await t.page(link.slice(link.indexOf("/#")));
    await other.locator(".detail", {hasText: "begun"}).waitFor();
});

test("code in another language is noticed, and the language changes only when the user says so", async (t) => {
    const page = await t.page();
    for (const [code, words] of [["const x = [1, 2];\nconsole.log(x.map((n) => n * 2));\n", "Node"], ["#!/bin/sh\necho $HOME\n", "Shell"]]) {
        await write(page, code);
        await page.getByText(`This looks like ${words}`).waitFor();
        ensure(await page.locator(".try-bar input[value=python]").isChecked(), "the language has changed");
    }
    await page.getByRole("button", {name: "Use Shell"}).click();
    ensure(await page.locator(".try-bar input[value=shell]").isChecked(), "the language has not changed");
    await run(page, "echo in-$((3 + 4))");
    same(await output(page), "in-7", "output");
    await choose(page, "python");
    const guesses = await page.evaluate(async () => {
        const {languageOfCode} = await import("/ui/options.js");
        return ["import os\nfor x in range(3):\n    print(x)\n", "print(6 * 7)", "x", "for i in 1 2 3; do echo $i; done\n", "import fs from 'fs';\nlet a = 1;\n", "#!/usr/bin/env python3\nx = 1"].map(languageOfCode);
    });
    same(guesses, ["python", null, null, "shell", "node", "python"], "guesses");
    same(await page.locator(".guess .notice").count(), 0, "a guess about the example");
});

test("on a wide screen the output is as high as the code beside it", async (t) => {
    const page = await t.page("/", {width: 1440, height: 900});
    await run(page, "print('\\n'.join(map(str, range(500))))");
    const [code, shown, body] = await page.evaluate(() => [".try-code", ".try-shown", ".output-body"].map((s) => document.querySelector(s).getBoundingClientRect()).map((r) => r.height));
    ensure(Math.abs(code - shown) < 2 && body > 350, `code ${code}, panel ${shown}, output ${body}`);
    const below = await page.evaluate(() => { const b = document.querySelector(".output-body"); return b.scrollHeight - b.scrollTop - b.clientHeight; });
    ensure(below < 40, `the end is ${below} pixels below what can be seen`);
});

test("without room for a sandbox the page shows that, waits, and runs the code later", async (t) => {
    const daemon = await t.newDaemon({sandboxes: {max: 1, queue_timeout_ms: 0, queue_max: 0}, pools: []});
    const page = await t.page("/", {daemon, expects: ["429"]});
    const {id} = await taken(daemon);
    await write(page, "print('at last')");
    await page.click(".run");
    await page.waitForSelector(".badge:has-text('No room: trying again')");
    await daemon.api(`/v1/sandboxes/${id}`, {method: "DELETE"});
    await until(async () => await output(page) === "at last", "it ran");
});

test("without room for long the page gives up and shows the reason", async (t) => {
    const daemon = await t.newDaemon({sandboxes: {max: 1, queue_timeout_ms: 0, queue_max: 0}, pools: []});
    const page = await t.page("/", {daemon, expects: ["429"]});
    await taken(daemon);
    await write(page, "1");
    await page.click(".run");
    await page.waitForSelector(".notice-bad");
    same(await page.locator(".try-shown .badge").first().innerText(), "Failed", "status");
});

test("pictures that the code writes to files are shown with the names of the files", async (t) => {
    const page = await t.page("/");
    const svg = '<svg xmlns="http://www.w3.org/2000/svg" width="30" height="20"><script>window.hacked=1</script></svg>';
    await run(page, `open("plot.svg", "w").write('${svg}')\nopen("<b>.svg", "w").write('${svg}')\nopen("no.png", "w").write("text")\nNone`);
    await until(async () => (await page.locator(".result img").evaluateAll((all) => all.filter((i) => i.complete).map((i) => i.naturalWidth))).join() === "30,30", "two pictures are loaded");
    const heads = (await page.locator(".result-head").allInnerTexts()).join();
    ensure(heads.includes("plot.svg") && heads.includes("<b>.svg"), `the names: ${heads}`);
    same(await page.evaluate(() => window.hacked), undefined, "scripts in them do not run");
});

test("a missing network and a limit that ended the code are shown with what raises them", async (t) => {
    const daemon = await t.newDaemon({limits: {timeout_ms: 11000}, pools: []});
    const page = await t.page("/", {daemon});
    const hint = () => page.locator(".try-shown .hint").last().innerText();
    await run(page, "import socket\nsocket.create_connection(('192.0.2.1', 80), 1)");
    ensure((await hint()).includes("network.tier"), "the hint about the network");
    await run(page, "import time\ntime.sleep(60)");
    ensure((await hint()).includes("timeout: 11 s reached; limits.timeout_ms"), "the hint about the time");
});

test("a missing interpreter and code that the scanner refuses are shown with their hints", async (t) => {
    const daemon = await t.newDaemon({scan: {action: "block"}, pools: []});
    const page = await t.page("/", {daemon, expects: ["422"]});
    await choose(page, "shell");
    await run(page, "exec 3<>/dev/tcp/192.0.2.1/80");
    same(await page.locator(".try-shown .badge").first().innerText(), "Refused", "status");
    ensure((await page.locator(".notice-bad").innerText()).length > 20, "no reason");
});
