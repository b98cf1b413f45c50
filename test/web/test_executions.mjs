// The log: newest first, searched, followed, endless; and one execution in full.
import {promisify} from "node:util";
import {execFile} from "node:child_process";
import {chownSync, existsSync, rmSync, statSync} from "node:fs";
import {dirname, join} from "node:path";
import {Skip, axe, ensure, inTime, options, same, test, until} from "./harness.mjs";

const exec = (daemon, body, key) => daemon.api("/v1/exec", {method: "POST", body, key});
const rows = (page) => page.locator("a.log-row");
const HOSTILE = "print('<img src=x onerror=alert(1)>')  # \u202e evil \u200b";

// A daemon of its own, for others run code on the one that is shared.
async function filled(t) {
    const daemon = await t.newDaemon();
    for (let i = 0; i < 30; i++) await exec(daemon, {runtime: "sh", code: `echo number ${i}; exit ${i % 10 === 3 ? 1 : 0}`, ...i % 2 && {agent: `agent-${i % 3}`}});
    await exec(daemon, {runtime: "sh", code: "sleep 9", timeout_ms: 100, session: "slow"});
    await exec(daemon, {runtime: "python3", code: HOSTILE, session: "<b>bold</b>\u202e"});
    await exec(daemon, {command: ["printf", "%s\\n", "a needle, hidden in output"]});
    return daemon;
}

test("the log is newest first, and an execution is shown in full with hostile content as text", async (t) => {
    const daemon = await filled(t), page = await t.page("/#/executions", {daemon});
    await rows(page).first().waitFor();
    const lines = await page.locator(".log-code").allInnerTexts();
    same(lines[0], "printf '%s\\n' 'a needle, hidden in output'", "the newest");
    ensure(lines[1].startsWith("print('<img src=x"), `code as text: ${lines[1]}`);
    await rows(page).nth(1).click();
    await page.locator(".detail .code").waitFor();
    const shown = await page.locator(".detail").innerText();
    ensure(shown.includes("print('<img src=x onerror=alert(1)>')") && shown.includes("U+202E") && shown.includes("U+200B"), "the code, with what cannot be seen");
    ensure(shown.includes("<b>bold</b>U+202E"), "the session");
    same((await page.locator(".detail .output-body").first().innerText()).trim(), "<img src=x onerror=alert(1)>", "its output");
    same(await page.locator(".detail img, .log img, .detail b").count(), 0, "elements made from text");
    ensure(page.url().includes("#/executions/exe_"), "its address");
    await page.reload();
    await page.locator(".detail .code").waitFor();
    await axe(page);
});

test("executions on the host and refused ones are marked", async (t) => {
    const daemon = await t.newDaemon({mode: "off"});
    await exec(daemon, {runtime: "sh", code: "true", args: ["<i>one</i>"], env: {COLOUR: "red"}, stdin: "four"});
    // The order of the log is that of its rows, and a row is written when all of the execution has ended.
    await until(async () => (await daemon.api("/v1/executions")).executions.length === 1, "the first row");
    await exec(daemon, {runtime: "sh", code: "echo no", image: "none"}).catch(() => {});
    const page = await t.page("/#/executions", {daemon});
    await rows(page).nth(1).waitFor();
    const about = await page.locator(".log-about").allInnerTexts();
    ensure(about[0].startsWith("Refused"), `the newest: ${about[0]}`);
    ensure(about[1].startsWith("On the host · Finished"), `the other: ${about[1]}`);
    await rows(page).nth(1).click();
    await page.locator(".detail .code").waitFor();
    const shown = await page.locator(".detail").innerText();
    for (const part of ["It ran on the host, not in a sandbox.", "host: the mode is off", "<i>one</i>", "COLOUR", "4 bytes"]) ensure(shown.includes(part), `${part} in ${shown}`);
    await rows(page).nth(0).click();
    await page.getByText("image is not available").waitFor();
    same(await page.locator(".detail i, .detail b").count(), 0, "elements made from text");
    await axe(page);
});

test("the log is searched by text, status, agent and session, and the filter is in the address", async (t) => {
    const daemon = await filled(t), page = await t.page("/#/executions", {daemon});
    await rows(page).first().waitFor();
    const found = async (n, what) => until(async () => await rows(page).count() === n, `${what}: ${n} rows`);
    await page.fill(".filter-text", "NEEDLE");
    await found(1, "text in output");
    await page.fill(".filter-text", "nowhere to be found");
    await page.getByText("No matching executions").waitFor();
    await page.getByRole("button", {name: "Show all"}).click();
    await until(async () => await rows(page).count() > 10, "all again");
    await page.getByRole("radio", {name: "Problems"}).click();
    await found(1, "problems");
    ensure(page.url().includes("status=signaled%2Ctimeout"), page.url());
    await page.getByRole("radio", {name: "All"}).click();
    await page.fill(".filter-agent", "agent-1");
    await page.keyboard.press("Enter");
    await found(5, "of an agent");
    await page.goto(`${daemon.url}/#/executions?session=slow`);
    await found(1, "of a session, from the address");
    await rows(page).first().click();
    await page.getByRole("button", {name: "slow"}).waitFor();
    ensure((await page.locator(".detail").innerText()).includes("Out of time"), "how it ended");
});

test("executions are followed live, and the scroll position stays", async (t) => {
    const daemon = await filled(t), page = await t.page("/#/executions", {daemon});
    await rows(page).first().waitFor();
    await page.getByLabel("Follow live").check();
    await page.locator(".check .live-on").waitFor();
    await exec(daemon, {runtime: "sh", code: "echo live one"});
    await page.getByText("echo live one").waitFor();
    same(await page.locator(".log-code").first().innerText(), "echo live one", "the newest");
    await page.locator(".log").evaluate((e) => { e.scrollTop = 520; });
    await until(async () => Number(await rows(page).first().getAttribute("data-index")) > 0, "it is scrolled");
    const at = () => page.evaluate(() => [...document.querySelectorAll("a.log-row")].find((e) => e.getBoundingClientRect().top >= document.querySelector(".log").getBoundingClientRect().top).dataset.row);
    const before = await at();
    await exec(daemon, {runtime: "sh", code: "echo live two"});
    await page.getByText("1 new").waitFor();
    same(await at(), before, "the row on top");
    await page.getByText("1 new").click();
    await page.getByText("echo live two").waitFor();
});

test("the code of an execution can be run again, or opened in Try it", async (t) => {
    const daemon = await filled(t), page = await t.page("/#/executions?text=number+7", {daemon});
    await rows(page).first().click();
    await page.getByRole("button", {name: "Run again"}).click();
    await page.locator(".again .badge").waitFor();
    same((await page.locator(".again .output-body").innerText()).trim(), "number 7", "what it printed");
    await page.getByRole("button", {name: "Open in Try it"}).click();
    await page.waitForSelector(".editor-input");
    ensure((await page.inputValue(".editor-input")).startsWith("echo number 7"), "the code");
});

test("a running execution is shown as running, and can be stopped", async (t) => {
    const daemon = await filled(t), page = await t.page("/#/executions?status=running", {daemon});
    const box = (await daemon.api("/v1/sandboxes", {method: "POST", body: {}})).id;
    const process = await daemon.api(`/v1/sandboxes/${box}/processes`, {method: "POST", body: {runtime: "sh", code: "sleep 60"}});
    await page.getByRole("radio", {name: "All"}).click();
    await page.getByRole("radio", {name: "Running"}).click();
    await rows(page).first().click();
    await page.getByRole("button", {name: "Stop it"}).click();
    await page.locator(".detail-head .badge").filter({hasText: "Stopped"}).waitFor();
    same((await daemon.api(`/v1/executions/${process.id}`)).status, "cancelled", "its status");
    await daemon.api(`/v1/sandboxes/${box}`, {method: "DELETE"});
});

test("the list is used by keyboard, on a phone and without a daemon", async (t) => {
    const daemon = await filled(t), page = await t.page("/#/executions", {daemon});
    await rows(page).first().waitFor();
    await page.locator(".log").focus();
    for (const key of ["ArrowDown", "ArrowDown", "ArrowUp", "PageDown", "End", "Home"]) await page.keyboard.press(key);
    same(await page.evaluate(() => document.activeElement.dataset.index), "0", "the first is focused");
    await page.keyboard.press("Enter");
    await page.locator(".detail .fact-list").first().waitFor();
    await page.getByRole("button", {name: "Close", exact: true}).click();
    same(await page.evaluate(() => document.activeElement.dataset.index), "0", "the focus is back");
    const phone = await t.page("/#/executions", {daemon, width: 390, height: 844, theme: "dark", expects: ["ERR_", "Failed to load"]});
    await rows(phone).first().waitFor();
    await axe(phone);
    ensure(await phone.evaluate(() => document.documentElement.scrollWidth <= innerWidth), "it is wider than the window");
    await daemon.halt("SIGKILL");
    await phone.fill(".filter-text", "needle");
    await phone.getByRole("button", {name: "Try again"}).waitFor();
    await daemon.launch();
    await until(async () => await rows(phone).count() === 1, "it goes on by itself");
});

// The last 20,000 rows of it in the default run; CELLA_TEST_ALL=1: a million, and scrolls through a tenth of them.
const ROWS = process.env.CELLA_TEST_ALL ? 1000000 : 20000, SCROLLED = process.env.CELLA_TEST_ALL ? 100000 : 8000;

test(`a log of ${ROWS} rows: the first come soon, and a document that stays small`, async (t) => {
    const fill = join(dirname(options.cella), "../bench/log");
    if (!existsSync(fill)) throw new Skip("bench/log is not built");
    const daemon = await t.newDaemon(), state = join(daemon.directory, "state"), log = join(state, "audit.db");
    await daemon.halt();
    const {uid, gid} = statSync(log);
    for (const name of ["audit.db", "audit.db-wal", "audit.db-shm", "running.map"]) rmSync(join(state, name), {force: true});
    await promisify(execFile)(fill, [state, String(ROWS)]);
    for (const name of ["audit.db", "audit.db-wal", "audit.db-shm"]) if (existsSync(join(state, name))) chownSync(join(state, name), uid, gid);
    await daemon.launch();
    for (const query of ["", "&status=timeout,signaled", "&agent=agent-7", "&session=session-40", "&text=math.sqrt", "&text=nowhere"]) {
        const times = [];
        for (let i = 0; i < 5; i++) {
            const begun = performance.now();
            await daemon.api(`/v1/executions?limit=200${query}`);
            times.push(performance.now() - begun);
        }
        inTime(Math.min(...times), 1000, query || "no filter");
    }
    const page = await t.page("/#/executions", {daemon}), nodes = () => page.evaluate(() => document.querySelectorAll("*").length);
    await rows(page).first().waitFor();
    const before = await nodes();
    await page.evaluate(async (to) => {
        const log = document.querySelector(".log");
        for (const end = Date.now() + 120000; log.scrollTop < to && Date.now() < end;) {
            log.scrollTop += 15000;
            await new Promise((done) => requestAnimationFrame(() => setTimeout(done, 0)));
        }
    }, (SCROLLED - 100) * 52);
    await until(async () => Number(await rows(page).first().getAttribute("data-index")) > SCROLLED - 2000, "it has come far");
    const after = await nodes();
    ensure(after < before + 200, `${before} elements at first, ${after} after ${SCROLLED} rows`);
    await page.locator(".log").evaluate((log) => { log.scrollTop = 52 * 3000; }); // given up meanwhile, and asked for again
    await until(async () => await rows(page).count() > 5 && Math.abs(Number(await rows(page).first().getAttribute("data-index")) - 2992) < 20, "back where it was");
    ensure(await page.evaluate(() => performance.memory.usedJSHeapSize) < 60e6, "memory");
    await page.fill(".filter-text", "haystack"); // in the oldest row only
    await until(async () => await rows(page).count() === 1, "it is found in the end");
}, {alone: true});
