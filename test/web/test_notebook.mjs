// The notebook: cells share variables, outputs are text, the keys of Jupyter work, files go in and out.
import {readFileSync} from "node:fs";
import {axe, ensure, same, test, until} from "./harness.mjs";

const cell = (page, at) => page.locator(".cell").nth(at);
const out = async (page, at) => (await cell(page, at).locator(".out").allTextContents()).join("").trimEnd();
const idle = (page) => page.locator(".page-head .badge", {hasText: "Idle"}).waitFor();
const focused = (page) => page.evaluate(() => [...document.querySelectorAll(".cell")].indexOf(document.activeElement));

test("cells share their variables, show outputs, and stay while another page is shown", async (t) => {
    const daemon = await t.newDaemon(), page = await t.page("/#/notebook", {daemon});
    await cell(page, 0).locator(".editor-input").fill("x = 20\nprint('<b>text</b>')\nx + 1");
    await page.keyboard.press("Shift+Enter"); // runs, and adds a cell below
    await idle(page);
    same([await out(page, 0), await cell(page, 0).locator(".result-text").innerText(), await cell(page, 0).locator(".cell-count").innerText()], ["<b>text</b>", "21", "[1]"], "the first cell");
    same(await page.locator(".cell").count(), 2, "cells");
    await cell(page, 1).locator(".editor-input").fill("print(x * 2)\nclass P:\n    def _repr_svg_(self): return '<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"30\" height=\"20\" onload=\"window.hacked=1\"/>'\n    def _repr_html_(self): return '<table><tr><td>1</table><img src=x onerror=\"window.hacked=2\">'\nP()");
    await page.keyboard.press("Control+Enter");
    await idle(page);
    same(await out(page, 1), "40", "the variable of the first cell");
    await cell(page, 1).locator(".result img").waitFor();
    await axe(page);
    await page.evaluate(() => { location.hash = "#/monitor"; });
    await page.locator(".page-monitor .chart").first().waitFor();
    await page.evaluate(() => { location.hash = "#/notebook"; });
    await page.locator(".cell").nth(1).waitFor();
    same([await out(page, 0), await out(page, 1)], ["<b>text</b>", "40"], "outputs after a visit to another page");
    await cell(page, 1).locator(".editor-input").fill("print(x)\nraise ValueError('no')");
    await page.getByRole("button", {name: "Run all"}).click();
    await cell(page, 1).locator(".badge", {hasText: "ValueError"}).waitFor();
    ensure((await out(page, 1)).startsWith("20"), await out(page, 1));
    same(await page.evaluate(() => window.hacked), undefined, "what ran");
    same((await daemon.api("/v1/sandboxes")).sandboxes.length, 1, "sandboxes");
    await page.goto("about:blank");
    await until(async () => (await daemon.api("/v1/sandboxes")).sandboxes.length === 0, "its sandbox has ended");
});

test("a cell is interrupted, and the interpreter is restarted", async (t) => {
    const page = await t.page("/#/notebook");
    await cell(page, 0).locator(".editor-input").fill("y = 1\nimport time\nprint('begun', flush=True)\ntime.sleep(100)");
    await page.keyboard.press("Control+Enter");
    await cell(page, 0).locator(".out", {hasText: "begun"}).waitFor();
    await page.keyboard.press("Escape");
    await page.keyboard.press("i");
    await page.keyboard.press("i");
    await idle(page);
    await cell(page, 0).locator(".editor-input").fill("print(y)");
    await page.keyboard.press("Control+Enter");
    await until(async () => await out(page, 0) === "1", "variables stay after an interrupt");
    await idle(page);
    await page.getByRole("button", {name: "Restart"}).click();
    await page.getByRole("dialog").getByRole("button", {name: "Restart"}).click();
    await page.locator(".toast", {hasText: "Restarted"}).waitFor();
    await page.getByRole("button", {name: "Run all"}).click();
    await cell(page, 0).locator(".badge", {hasText: "NameError"}).waitFor();
});

test("the keys of Jupyter add, remove, restore, select and change cells", async (t) => {
    const page = await t.page("/#/notebook");
    const sources = () => page.locator(".cell .editor-input").evaluateAll((all) => all.map((e) => e.value));
    const press = async (...keys) => { for (const key of keys) await page.keyboard.press(key); };
    await cell(page, 0).locator(".editor-input").fill("one");
    await press("Escape", "b", "Enter");
    await page.keyboard.insertText("two");
    await press("Escape", "a", "Enter");
    await page.keyboard.insertText("between");
    same(await sources(), ["one", "between", "two"], "after b and a");
    await press("Escape", "j");
    same(await focused(page), 2, "j selects the next");
    await press("k", "ArrowUp");
    same(await focused(page), 0, "k and the arrow select the one before");
    await press("d", "d");
    same(await sources(), ["between", "two"], "after d d");
    await press("z");
    same(await sources(), ["one", "between", "two"], "after z");
    await press("m");
    same(await cell(page, 0).locator(".cell-count").innerText(), "Text", "after m");
    await press("y");
    same(await cell(page, 0).locator(".cell-count").innerText(), "[ ]", "after y");
    await page.reload();
    await page.locator(".cell").nth(2).waitFor();
    same(await sources(), ["one", "between", "two"], "after a reload");
});

test("a notebook is saved as .ipynb and opened again; a hostile or invalid file does no harm", async (t) => {
    const page = await t.page("/#/notebook", {expects: ["Executing inline event handler violates"]});
    await cell(page, 0).locator(".editor-input").fill("print('printed')\n6 * 7");
    await page.keyboard.press("Control+Enter");
    await idle(page);
    const [file] = await Promise.all([page.waitForEvent("download"), page.getByRole("button", {name: "Save as .ipynb"}).click()]);
    same(file.suggestedFilename(), "notebook.ipynb", "name");
    const saved = JSON.parse(readFileSync(await file.path(), "utf8"));
    same([saved.nbformat, saved.cells.length, saved.cells[0].source, saved.cells[0].execution_count], [4, 1, ["print('printed')\n", "6 * 7"], 1], "the file");
    same(saved.cells[0].outputs.map((o) => [o.output_type, o.text ?? o.data["text/plain"]]), [["stream", "printed\n"], ["execute_result", "42"]], "outputs in the file");
    const open = (name, text) => page.locator("input[aria-label='Notebook to open']").setInputFiles({name, mimeType: "application/json", buffer: Buffer.from(text)});
    const hostile = {nbformat: 4, nbformat_minor: 5, metadata: {}, cells: [{cell_type: "markdown", source: ["# <img src=x onerror=\"window.hacked=1\">\n", "text"]}, {cell_type: "code", source: "1", execution_count: "<b>", outputs: [
        {output_type: "stream", name: "stdout", text: ["<script>window.hacked=2</script>", "\u202e"]}, {output_type: "display_data", data: {"text/html": ["<table><tr><td onclick=x>cell<script>window.hacked=3</script></table>", "<img src=x onerror=\"window.hacked=4\">"], "image/svg+xml": "<svg xmlns='http://www.w3.org/2000/svg' width='9' height='9' onload='window.hacked=5'/>"}},
        {output_type: "error", ename: "E", evalue: "v", traceback: ["\u001b[31mtrace\u001b[0m <i>"]}, 7, null]}, null]};
    await open("x.ipynb", JSON.stringify(hostile));
    await until(async () => await page.locator(".cell").count() === 3, "cells");
    ensure((await cell(page, 1).locator(".output-body").innerText()).includes("<script>window.hacked=2</script>U+202E"), await cell(page, 1).innerText());
    ensure((await cell(page, 1).locator(".output-body").innerText()).includes("trace <i>"), "the traceback");
    same(await page.locator(".cell script, .cell i, .cell b, .cell [onclick]").count(), 0, "elements of the file");
    same(await page.evaluate(() => window.hacked), undefined, "what ran");
    for (const [text, why] of [["{", "it is not JSON"], ['{"nbformat": 3}', "version 4"], ["[]", "version 4"]]) {
        await open("bad.ipynb", text);
        await page.locator(".toast", {hasText: why}).last().waitFor();
        same(await page.locator(".cell").count(), 3, "cells");
    }
});
