// The frame around the pages: how it is served, signing in, the daemon gone and back, keyboard, accessibility.
import {AWAY, ensure, inTime, output, run, same, sleep, test, until, write} from "./harness.mjs";

test("every file has its security headers, and no file is sent twice", async (t) => {
    const names = ["/", "/ui/app.js", "/ui/style.css", "/ui/icon.svg"];
    for (const name of names) {
        const response = await fetch(t.daemon.url + name), headers = response.headers;
        same(response.status, 200, name);
        const policy = headers.get("Content-Security-Policy");
        for (const part of ["default-src 'none'", "script-src 'self'", "style-src 'self'", "connect-src 'self'", "frame-ancestors 'none'", "base-uri 'none'", "form-action 'none'", "require-trusted-types-for 'script'"])
            ensure(policy.includes(part), `${name}: no ${part} in ${policy}`);
        ensure(!/unsafe|http:|https:|\*/.test(policy), `${name}: ${policy}`);
        same([headers.get("X-Frame-Options"), headers.get("X-Content-Type-Options"), headers.get("Referrer-Policy"), headers.get("Cross-Origin-Resource-Policy")],
            ["DENY", "nosniff", "no-referrer", "same-origin"], name);
        const again = await fetch(t.daemon.url + name, {headers: {"If-None-Match": headers.get("ETag")}});
        same([again.status, (await again.text()).length], [304, 0], `${name}, known already`);
    }
    same((await fetch(`${t.daemon.url}/ui/..%2fapp.js`)).status, 404, "a path out of the folder");
    same((await fetch(`${t.daemon.url}/ui/nothing.js`)).status, 404, "a file that is not there");
    const api = await fetch(`${t.daemon.url}/v1/health`);
    same(api.headers.get("X-Content-Type-Options"), "nosniff", "of the API");
});

test("the page cannot be framed, and other pages cannot use the API", async (t) => {
    const other = await t.newDaemon(); // another origin
    const page = await t.page("/", {daemon: other, expects: ["frame", "Frame", "CORS", "403", "ERR_", "asked another origin", "Content Security Policy", "Refused"]});
    const context = page.context();
    // A page without our CSP on that origin, as an attacker would have.
    await context.route(`${other.url}/evil`, (route) => route.fulfill({contentType: "text/html", body: "<!doctype html><title>evil</title>"}));
    await page.goto(`${other.url}/evil`);
    const said = await page.evaluate(async (target) => {
        const frame = document.createElement("iframe");
        frame.src = `${target}/`;
        document.body.append(frame);
        await new Promise((done) => { frame.onload = done; setTimeout(done, 2000); });
        const tries = {};
        for (const [name, options] of Object.entries({
            cors: {method: "POST", body: "{}", headers: {"Content-Type": "application/json"}},
            simple: {method: "POST", body: '{"runtime":"sh","code":"echo hacked"}', mode: "no-cors"},
            read: {method: "GET"},
        })) tries[name] = await fetch(`${target}/v1/exec`.replace("exec", name === "read" ? "settings" : "exec"), options).then((r) => `${r.type} ${r.status}`, () => "refused");
        return tries;
    }, t.daemon.url);
    same(said.cors, "refused", "with a preflight");
    same(said.read, "refused", "reading");
    const frame = page.frames().find((f) => f !== page.mainFrame());
    ensure(!frame || frame.url().startsWith("chrome-error:") || await frame.locator(".side").count() === 0, "the page is shown in a frame");
    await sleep(300);
    const {executions} = await t.daemon.api("/v1/executions?limit=20");
    ensure(!executions.some((e) => JSON.stringify(e).includes("echo hacked")), "a simple request of another page ran code");
});

test("the first page is usable soon, with less than 250 KB", async (t) => {
    const times = [];
    let bytes = 0;
    for (let i = 0; i < 12 && !(Math.min(...times) < 1500); i++) {
        const page = await t.page("/", {wait: false});
        await page.waitForSelector(".run");
        const [ms, sum] = await page.evaluate(() => {
            const all = [...performance.getEntriesByType("resource"), ...performance.getEntriesByType("navigation")];
            return [performance.getEntriesByName("cella:interactive")[0].startTime, all.reduce((n, e) => n + e.transferSize, 0)];
        });
        times.push(Math.round(ms));
        bytes = Math.max(bytes, sum);
        await page.context().close(); // it would go on working beside the next one
    }
    console.log(`     first page: ${Math.min(...times)} ms at best of ${times.join(", ")}; ${Math.round(bytes / 1024)} KB transferred`);
    ensure(bytes < 250 * 1024, `${bytes} bytes were transferred`);
    inTime(Math.min(...times), 2000, "the best of twelve"); // 150 ms on an idle machine
}, {alone: true});

test("signing in: without a key, with a wrong one, with a right one; and out again", async (t) => {
    const daemon = await t.newDaemon();
    const {key} = await daemon.api("/v1/keys", {method: "POST", body: {name: "someone", capabilities: ["sandbox.exec", "sandbox.manage", "files", "settings"]}});
    const page = await t.page("/", {daemon, expects: ["401"]});
    same(await page.locator("h1").innerText(), "Sign in", "first");
    same(await page.locator(".side nav a").count(), 0, "entries of the menu");
    await page.fill("#key", "cella_wrong");
    await page.keyboard.press("Enter");
    await page.waitForSelector(".field-error:has-text('not known')");
    same(await page.inputValue("#key"), "cella_wrong", "the form is still the same one");
    await page.fill("#key", key);
    await page.keyboard.press("Enter");
    await page.waitForSelector(".editor");
    ensure((await page.locator(".who").innerText()).includes("someone"), "who it is");
    await run(page, "print('signed in')");
    same(await output(page), "signed in", "output");
    const stored = await page.evaluate(() => [location.href, document.cookie, JSON.stringify({...localStorage})]);
    ensure(!stored.some((text) => text.includes("cella_")), `the key is in ${stored}`);
    await page.reload();
    await page.waitForSelector(".editor");
    await page.click(".side nav >> text=Sandbox");
    await page.fill("#f-limits-processes", "55");
    await page.click(".side nav >> text=Try it");
    await run(page, "secret = 1");
    await page.click("[title='Sign out']");
    await page.waitForSelector("#key");
    same(await page.evaluate(() => Object.keys(sessionStorage)), [], "what is stored");
    await until(async () => (await daemon.api("/v1/sandboxes", {key})).sandboxes.length === 0, "its sandbox has ended");
    await page.fill("#key", key);
    await page.keyboard.press("Enter");
    await page.waitForSelector(".editor");
    ensure(!(await page.inputValue(".editor-input")).includes("secret"), "the code of who was there before");
    await page.click(".side nav >> text=Sandbox");
    same(await page.inputValue("#f-limits-processes"), "64", "a setting that was not saved");
});

test("removing the key of an open page leads to signing in, and the draft stays", async (t) => {
    const daemon = await t.newDaemon();
    const made = await daemon.api("/v1/keys", {method: "POST", body: {name: "short"}});
    const admin = await daemon.api("/v1/keys", {method: "POST", body: {name: "admin", capabilities: ["settings"]}, key: made.key}).catch(() => null);
    same(admin, null, "a key without settings makes keys");
    const page = await t.page("/", {daemon, expects: ["401"]});
    await page.fill("#key", made.key);
    await page.keyboard.press("Enter");
    await page.waitForSelector(".editor");
    await write(page, "print('precious')");
    await daemon.halt(); // keys are removed by their owner, over the socket; the state is on disk
    const {execFileSync} = await import("node:child_process");
    const {options} = await import("./harness.mjs");
    await daemon.launch();
    execFileSync(options.cella, ["key", "rm", made.id, "--socket", `${daemon.directory}/sock`], {stdio: "ignore"});
    const spare = JSON.parse(execFileSync(options.cella, ["key", "add", "spare", "--json", "--socket", `${daemon.directory}/sock`], {encoding: "utf8"}));
    await page.click(".run");
    await page.waitForSelector("#key");
    await page.fill("#key", spare.key);
    await page.keyboard.press("Enter");
    await page.waitForSelector(".editor");
    same(await page.inputValue(".editor-input"), "print('precious')", "draft");
});

test("pages that the key may not use are neither in the menu nor reachable", async (t) => {
    const daemon = await t.newDaemon();
    const {key} = await daemon.api("/v1/keys", {method: "POST", body: {name: "runner", capabilities: ["sandbox.exec"]}});
    const page = await t.page("/", {daemon, expects: ["401"]});
    await page.fill("#key", key);
    await page.keyboard.press("Enter");
    await page.waitForSelector(".editor");
    const menu = await page.locator(".side nav a").allInnerTexts();
    ensure(!menu.includes("Sandbox") && !menu.includes("Files") && menu.includes("Try it"), `menu: ${menu}`);
    same(await page.locator("#keep").count(), 0, "keeping a sandbox");
    await run(page, "open('f.txt', 'w').write('x'); print('once')");
    same(await output(page), "once", "output");
    ensure((await page.locator(".found").innerText()).includes("deleted with the sandbox"), "files of a removed sandbox");
    await page.evaluate(() => { location.hash = "#/settings"; });
    await page.waitForSelector("text=Not with this key");
});

test("the page reports that the daemon is away, and continues when it is back", async (t) => {
    const daemon = await t.newDaemon();
    const page = await t.page("/", {daemon, expects: AWAY});
    await write(page, "import time\nprint('begun', flush=True)\ntime.sleep(60)");
    await page.click(".run");
    await page.waitForSelector(".out:has-text('begun')");
    await daemon.halt("SIGKILL");
    await page.waitForSelector(".banner:not([hidden])");
    ensure((await page.locator(".banner").innerText()).includes("does not answer"), "banner");
    await page.waitForSelector(".notice-bad"); // of the run that broke
    await page.click(".run");
    await page.waitForSelector(".run:not(.button-stop)");
    let asked = 0; // one that starts answers, and is not back yet
    await page.route("**/healthz", (route) => { asked++; return route.fulfill({status: 503, body: "starting"}); });
    await until(() => asked >= 2, "the page looks for it");
    ensure(await page.locator(".banner").isVisible(), "it is taken for being back");
    await page.unroute("**/healthz");
    await daemon.launch();
    await page.waitForSelector(".banner", {state: "hidden"});
    await run(page, "print('again')");
    same(await output(page), "again", "output");
});

test("a page that gets an invalid answer shows an error instead of staying empty", async (t) => {
    const page = await t.page("/", {wait: false, expects: ["500", "thrown", "console"]});
    await page.route("**/v1/me", (route) => route.fulfill({status: 500, contentType: "text/html", body: "<h1>proxy error</h1>"}));
    await page.reload();
    await page.waitForSelector(".notice-bad:has-text('500')");
});

test("an unknown address is reported", async (t) => {
    const page = await t.page("/#/nowhere");
    await page.waitForSelector("text=No such page");
});

test("a keyboard is enough: skip link, menu, editor, run, settings, save", async (t) => {
    const daemon = await t.newDaemon();
    const page = await t.page("/", {daemon});
    const press = async (key, times = 1) => { for (let i = 0; i < times; i++) await page.keyboard.press(key); };
    const focused = () => page.evaluate(() => { const e = document.activeElement; return e === document.body ? "nothing" : `${e.localName} ${e.id} ${e.className} ${e.getAttribute("aria-label") ?? ""} ${e.textContent.slice(0, 40)}`; });
    const tabTo = async (what) => {
        for (let i = 0; i < 80; i++) {
            await press("Tab");
            const now = await focused();
            if (now.includes("editor-input") && !what.includes("editor-input")) await press("Escape");
            if (now.includes(what)) return;
        }
        throw new Error(`Tab does not reach ${what}; it is at ${await focused()}`);
    };
    await press("Tab");
    ensure((await focused()).includes("Skip to the page"), `the first is ${await focused()}`);
    await tabTo("editor-input");
    await press("Control+a");
    await page.keyboard.type("print('typed')");
    await tabTo("button button-primary run");
    await press("Enter");
    await until(async () => await output(page) === "typed", "it ran");
    const ring = await page.evaluate(() => getComputedStyle(document.activeElement).outlineStyle);
    ensure(ring !== "none", "what has the focus cannot be seen");
    await page.evaluate(() => document.activeElement.blur());
    await tabTo("Sandbox");
    await press("Enter");
    await page.waitForSelector(".settings-card");
    await tabTo("f-limits-processes");
    await press("Control+a");
    await page.keyboard.type("77");
    await page.waitForSelector(".save-bar:not([hidden])");
    await page.locator(".save-bar button:has-text('Save')").focus();
    await press("Enter");
    await page.waitForSelector(".toast:has-text('Saved')");
    same((await daemon.api("/v1/settings")).limits.processes, 77, "saved");
});

test("the menu of a phone has five entries, and the others are behind More", async (t) => {
    const page = await t.page("/", {width: 390, height: 844});
    const nav = page.getByRole("navigation", {name: "Parts of this page"});
    const shown = await nav.locator("a:visible, button:visible").allInnerTexts();
    same(shown, ["Try it", "Files", "Monitor", "Executions", "More"], "entries");
    for (const box of await nav.locator("a:visible, button:visible").evaluateAll((all) => all.map((e) => e.getBoundingClientRect().toJSON())))
        ensure(box.left >= 0 && box.right <= 390 && box.width > 40, `an entry is at ${box.left} to ${box.right}`);
    await nav.getByRole("button", {name: "More"}).focus();
    await page.keyboard.press("Enter");
    await page.getByRole("dialog", {name: "All pages"}).getByRole("link", {name: "Secrets"}).click();
    await page.getByRole("heading", {name: "Secrets", level: 1}).waitFor();
    same(await page.getByRole("dialog").count(), 0, "dialogs");
    ensure(await nav.getByRole("button", {name: "More"}).evaluate((e) => e.classList.contains("nav-here")), "More is marked");
});

test("all files of the page without the terminal have less than 150 KB", async (t) => {
    const names = new Set(["/"]), sizes = new Map();
    for (const name of names) { // all that are reachable from the first one
        const response = await fetch(t.daemon.url + name, {headers: {"Accept-Encoding": "gzip"}});
        sizes.set(name, Number(response.headers.get("Content-Length")));
        for (const [, next] of (await response.text()).matchAll(/["'](?:\.|\/ui)?\/([a-z]+\.(?:js|css|svg))["']/g)) names.add(`/ui/${next}`);
        if (name === "/ui/live.js") names.add("/ui/pages.css");
    }
    ensure(names.size > 25, `files: ${[...names]}`);
    for (const name of names) if (/xterm|addon/.test(name)) sizes.delete(name);
    ensure([...sizes.values()].every((n) => n > 0), `sizes: ${JSON.stringify([...sizes])}`);
    const sum = [...sizes.values()].reduce((a, b) => a + b);
    console.log(`     the page: ${(sum / 1024).toFixed(1)} KB in ${sizes.size} files`);
    ensure(sum < 150 * 1024, `${sum} bytes`);
});

test("the chosen colours stay after a reload", async (t) => {
    const page = await t.page();
    const ground = () => page.evaluate(() => getComputedStyle(document.body).backgroundColor);
    const light = await ground();
    await page.check(".theme input[value=dark]", {force: true});
    const dark = await ground();
    ensure(light !== dark, "nothing changed");
    await page.reload();
    await page.waitForSelector(".run");
    same(await ground(), dark, "after a reload");
});
