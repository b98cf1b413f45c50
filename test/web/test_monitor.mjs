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

test("the last hour is shown as the daemon has recorded it, also from before the page was opened", async (t) => {
    const daemon = await t.newDaemon();
    for (let i = 0; i < 3; i++) await daemon.api("/v1/exec", {method: "POST", body: {runtime: "sh", code: "sleep 0.05"}});
    const page = await t.page("/#/monitor", {daemon});
    await page.locator(".segmented[aria-label='Time span of the charts'] input[value=hour]").check({force: true});
    const chart = page.getByRole("region", {name: "Chart: Time an execution takes"});
    await until(async () => /p50.*\d (ms|s).*p99.*\d (ms|s)/s.test(await chart.locator(".chart-now").innerText()), "the times of the executions");
    const ms = parseFloat((await chart.locator(".chart-value strong").first().innerText()));
    ensure(ms >= 50, `${ms} ms, but each slept for 50`);
    same(await page.getByRole("region", {name: "Chart: Memory"}).count(), 0, "a chart that is not recorded");
    await axe(page);
    await page.locator(".segmented[aria-label='Time span of the charts'] input[value=live]").check({force: true});
    await page.getByRole("region", {name: "Chart: Memory"}).waitFor();
    const hour = await page.evaluate(async () => {
        const {hourOf} = await import("/ui/monitor.js");
        const at = (minute) => new Date(1e12 - 1e12 % 60000 + minute * 60000).toISOString();
        const {rate, latency, sandboxes} = hourOf({time: new Date(Date.parse(at(0)) + 30000).toISOString(), bounds_ms: [1, 2, 5], minutes: [
            {time: at(-59), executions: 60, latency: [0, 40, 20, 0], sandboxes: 4}, {time: at(0), executions: 60, latency: [0, 0, 0, 60], sandboxes: 2}, {time: at(-60), executions: 9, latency: [9, 0, 0, 0], sandboxes: 9}]});
        return [rate.length, rate[0].values, rate[1].values, rate[59].values, latency[0].values, latency[1].values, latency[59].values, sandboxes[0].values[0], sandboxes[1].values[0]];
    });
    same(hour, [60, [1], [0], [2], [1.75, 4.91], [null, null], [5, 5], 4, null].map((v) => v), "points of the hour");
});

test("a key without the counters gets no history of the daemon", async (t) => {
    const daemon = await t.newDaemon();
    const {key} = await daemon.api("/v1/keys", {method: "POST", body: {name: "own", capabilities: ["sandbox.exec"]}});
    const page = await t.page("/#/monitor", {daemon, expects: ["401"]});
    await page.fill("#key", key);
    await page.keyboard.press("Enter");
    await page.locator(".live-on").waitFor();
    await page.getByRole("heading", {name: "Spare sandboxes"}).waitFor(); // it comes after the history would
    ensure(!await page.locator(".segmented[aria-label='Time span of the charts']").isVisible(), "the choice of the span");
    same(await page.getByRole("button", {name: "Verify the log"}).count(), 0, "verifying the log without audit");
});

test("each isolation layer is explained on demand", async (t) => {
    const page = await t.page("/#/monitor");
    const layer = (name) => page.locator(`.walls [data-layer="${name}"]`), about = page.locator(".wall-about");
    await layer("seccomp").focus();
    await page.keyboard.press("Enter");
    ensure((await about.innerText()).includes("System call filter"), await about.innerText());
    same(await layer("seccomp").getAttribute("aria-expanded"), "true", "aria-expanded");
    for (const name of await page.locator(".walls [data-layer]").evaluateAll((all) => all.map((e) => e.dataset.layer))) {
        if (await layer(name).getAttribute("aria-expanded") === "false") await layer(name).click();
        ensure((await about.innerText()).length > 60, `${name}: ${await about.innerText()}`);
        await layer(name).click();
        ensure(!await about.isVisible(), "it can be closed");
    }
});

test("the audit log is verified on demand, and a broken one is reported", async (t) => {
    const daemon = await t.newDaemon();
    for (let i = 0; i < 3; i++) await daemon.api("/v1/exec", {method: "POST", body: {runtime: "sh", code: "true"}});
    await until(async () => (await daemon.api("/v1/executions")).executions.length === 3, "the log has the rows");
    const page = await t.page("/#/monitor", {daemon});
    await page.getByRole("button", {name: "Verify the log"}).click();
    await page.getByText("complete and unchanged").waitFor();
    const {rows, hash} = await daemon.api("/v1/executions/verify");
    const text = await page.locator(".health").innerText();
    ensure(rows >= 3 && text.includes(`${rows} rows, complete`) && text.includes(hash), text);
    await page.route("**/v1/executions/verify", (route) => route.fulfill({json: {rows: 1, ok: false, first_bad: 2, why: "the hash of <b>row 2</b> is wrong"}}));
    await page.getByRole("button", {name: "Verify the log"}).click();
    await page.getByText("Row 2 is wrong").waitFor();
    ensure((await page.locator(".health").innerText()).includes("<b>row 2</b>"), "the reason is not shown as text");
    await axe(page);
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
