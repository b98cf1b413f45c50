// The monitor: figures and sandboxes come by events, and what is done there is done.
import {axe, ensure, same, sleep, test, until} from "./harness.mjs";

const make = (daemon, body = {}, key) => daemon.api("/v1/sandboxes", {method: "POST", body, key}).then((made) => made.id);
const row = (page, id) => page.locator(`tr[data-id="${id}"]`);

test("the monitor shows changes of health, charts and sandboxes without new requests", async (t) => {
    const page = await t.page("/#/monitor"), asked = [];
    await page.waitForSelector(".live-on");
    page.on("request", (request) => asked.push(request.url()));
    const id = await make(t.daemon);
    await row(page, id).waitFor();
    same(await row(page, id).locator(".badge").innerText(), "Running", "its state");
    for (let i = 0; i < 12; i++) await t.daemon.api("/v1/exec", {method: "POST", body: {runtime: "sh", code: "echo 1"}});
    await until(async () => (await page.locator(".chart-value strong").allInnerTexts()).slice(0, 2).every((text) => text !== "–" && text !== "0"), "figures of the executions");
    await until(async () => /KiB|MiB/.test(await row(page, id).locator('[data-label="memory"]').innerText()), "its memory");
    ensure(/Walls around code/.test(await page.locator(".health").innerText()) && /Disk/.test(await page.locator(".health").innerText()), "parts of the health");
    await t.daemon.api(`/v1/sandboxes/${id}`, {method: "DELETE"});
    await row(page, id).waitFor({state: "detached"});
    same(asked.filter((url) => !url.includes("/healthz")), [], "requests while it was looked at");
});

test("sandboxes are paused, resumed and killed from the list, by keyboard, too", async (t) => {
    const page = await t.page("/#/monitor"), id = await make(t.daemon);
    await row(page, id).waitFor();
    await row(page, id).getByRole("button", {name: "Pause"}).focus();
    await page.keyboard.press("Enter");
    await until(async () => await row(page, id).locator(".badge").innerText() === "Paused", "it is paused");
    same(await page.evaluate(() => document.activeElement.title.split(" ")[0]), "Resume", "the focus stays");
    same(await row(page, id).locator('a[href^="#/terminal"]').count(), 0, "terminals of a paused one");
    same((await t.daemon.api(`/v1/sandboxes/${id}`)).state, "paused", "its state");
    await page.keyboard.press("Enter");
    await until(async () => await row(page, id).locator(".badge").innerText() === "Running", "it goes on");
    await row(page, id).getByRole("button", {name: "Kill"}).click();
    await page.getByRole("button", {name: "Kill", exact: true}).click();
    await row(page, id).waitFor({state: "detached"});
    same((await fetch(`${t.daemon.url}/v1/sandboxes/${id}`)).status, 404, "it is gone");
});

test("pools and layers have names, not null", async (t) => {
    const page = await t.page("/#/monitor");
    await page.getByRole("heading", {name: "Spare sandboxes"}).waitFor();
    const health = await page.locator(".health").textContent();
    ensure(!/undefined|null|NaN/.test(health), health);
});

test("a key sees its own sandboxes only, and no button for what it may not do", async (t) => {
    const daemon = await t.newDaemon(), owners = await make(daemon);
    const own = await daemon.api("/v1/keys", {method: "POST", body: {name: "own", capabilities: ["sandbox.exec", "sandbox.manage"]}});
    const mine = await make(daemon, {}, own.key);
    const page = await t.page("/#/monitor", {daemon, expects: ["401"]});
    await page.fill("#key", own.key);
    await page.keyboard.press("Enter");
    await row(page, mine).waitFor();
    same([await page.locator("tr[data-id]").count(), await row(page, owners).count()], [1, 0], "sandboxes, and those of others among them");
    same(await row(page, mine).locator('a[href^="#/files"]').count(), 0, "files without the capability");
    same(await row(page, mine).locator('a[href^="#/terminal"]').count(), 1, "a terminal with it");
    await page.getByRole("heading", {name: "Pool of python3"}).waitFor();
    const health = await page.locator(".health").textContent();
    ensure(!/undefined|null|NaN/.test(health) && !/\d of \d+ ready/.test(health), `health, without the counters of others: ${health}`);
});

test("removing the key of an open monitor asks for another key", async (t) => {
    const daemon = await t.newDaemon(), settings = await daemon.api("/v1/keys", {method: "POST", body: {name: "admin", capabilities: ["settings", "sandbox.exec"]}});
    const own = await daemon.api("/v1/keys", {method: "POST", body: {name: "own", capabilities: ["sandbox.exec"]}, key: settings.key});
    const page = await t.page("/#/monitor", {daemon, expects: ["401"]});
    await page.fill("#key", own.key);
    await page.keyboard.press("Enter");
    await page.waitForSelector(".live-on");
    await daemon.api(`/v1/keys/${own.id}`, {method: "DELETE", key: settings.key});
    await page.getByRole("heading", {name: "Sign in"}).waitFor();
    await page.getByText("Unknown key").waitFor();
});

test("the monitor continues after a restart of the daemon", async (t) => {
    const daemon = await t.newDaemon(), page = await t.page("/#/monitor", {daemon, expects: ["ERR_", "Failed to load"]});
    const kept = await make(daemon), lost = await make(daemon, {persistent: false});
    await row(page, kept).waitFor();
    await row(page, lost).waitFor();
    await daemon.halt("SIGKILL");
    await page.getByText("Reconnecting").waitFor();
    await page.locator(".banner:not([hidden])").waitFor();
    await daemon.launch();
    await page.waitForSelector(".live-on");
    await row(page, lost).waitFor({state: "detached"});
    await row(page, kept).getByText("stopped").waitFor();
    await page.locator(".banner[hidden]").waitFor({state: "attached"});
    const next = await make(daemon);
    await row(page, next).waitFor();
});

test("a chart can be read by keyboard, and axe-core finds no problem on the page", async (t) => {
    const id = await make(t.daemon);
    for (const theme of ["light", "dark"]) {
        const page = await t.page("/#/monitor", {theme, ...theme === "dark" && {width: 390, height: 844}});
        await row(page, id).waitFor();
        await until(async () => await page.locator(".chart-line").count() > 0, "lines");
        await page.locator(".chart-picture").first().focus();
        await page.keyboard.press("ArrowLeft");
        ensure(/Executions a second, \d\d:\d\d:\d\d: executions/.test(await page.locator(".chart-picture").first().getAttribute("aria-label")), "what it says");
        await axe(page);
        ensure(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth), `${theme}: it is wider than the window`);
    }
    await t.daemon.api(`/v1/sandboxes/${id}`, {method: "DELETE"});
    await sleep(50);
});

test("learned pools show what is preloaded, why, and the benefit", async (t) => {
    const page = await t.page("/"), health = await t.daemon.api("/v1/health");
    health.pools.push({...health.pools[0], key: "key_a", learned: [{module: "numpy", executions: 7, import_ms: 81.5}, {module: "yaml", executions: 1, import_ms: 12}], executions: 9, saved_ms: 64.7, memory_bytes: 78 << 20});
    const snapshot = {time: new Date().toISOString(), health, rates: {executions_per_second: 1, latency_p50_ms: 1, latency_p99_ms: 1, waiting: 0}, memory: {server_bytes: 1, available_bytes: 1e9}};
    await page.route(/\/v1\/events/, (route) => route.fulfill({contentType: "text/event-stream", body: `event: snapshot\ndata: ${JSON.stringify(snapshot)}\n\n`}));
    await page.evaluate(() => { location.hash = "#/monitor"; });
    await page.getByRole("heading", {name: "Learned: Pool of python3"}).waitFor();
    const text = await page.locator(".health").innerText();
    for (const part of ["numpy (7 of 9 executions, 81.5 ms)", "yaml (1 of 9 executions, 12", "64.7 ms per execution", "78 MiB", "key_a"])
        ensure(text.includes(part), `the health shows ${part}: ${text}`);
});
