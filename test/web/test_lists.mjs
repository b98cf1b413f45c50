// Keys, secrets, images, pools and volumes: what is done there is done, hostile names are text, and a key without a
// capability sees an explanation.
import {execFileSync} from "node:child_process";
import {mkdirSync, writeFileSync} from "node:fs";
import {join} from "node:path";
import {axe, ensure, same, test, until} from "./harness.mjs";

const HOSTILE = "<img src=x onerror=\"window.hacked=1\">\u202ex\u200b";
const SHOWN = "<img src=x onerror=\"window.hacked=1\">U+202ExU+200B"; // the same, with its invisible characters marked
const entry = (page, name) => page.locator(".entry").filter({hasText: name});
const ALL = ["sandbox.exec", "sandbox.manage", "files", "images", "secrets", "settings", "audit", "monitor"];

async function signIn(page, key) {
    await page.fill("#key", key);
    await page.keyboard.press("Enter");
    await page.waitForSelector("#key", {state: "detached"});
}

// No element was made from a name, no script ran, and no invisible character is in the document.
async function isText(page) {
    same(await page.locator("main img, main script, main iframe").count(), 0, "elements made from names");
    same(await page.evaluate(() => window.hacked), undefined, "what ran");
    ensure(!/[\u202a-\u202e\u200b]/.test(await page.locator("main").innerText()), "an invisible character is shown as it is");
}

test("a key is made with its rights and limits, shown once, and revoked", async (t) => {
    const daemon = await t.newDaemon();
    const admin = await daemon.api("/v1/keys", {method: "POST", body: {name: "admin", capabilities: ALL, tier: "standard"}});
    const page = await t.page("/#/keys", {daemon, expects: ["401", "400"]});
    await signIn(page, admin.key);
    await entry(page, "admin").waitFor();
    ensure(await page.locator("input[value='host.exec']").isDisabled(), "a right that the key does not have can be given");
    ensure(await page.locator("option[value=elevated]").evaluate((e) => e.disabled), "a tier that the key does not have can be given");
    const form = page.getByRole("form", {name: "New key"});
    await form.getByLabel("Name", {exact: true}).fill(HOSTILE);
    await form.locator("input[value=files]").uncheck();
    await form.locator("input[value=audit]").check();
    await form.getByLabel("Highest network tier").selectOption("standard");
    await form.getByLabel("Sandboxes at once").fill("3");
    await form.getByText("Limits that its requests may not exceed").click();
    await form.locator("#key-memory_bytes-none").uncheck();
    await form.locator("#key-memory_bytes").fill("128");
    await form.locator("#key-memory_bytes + select").selectOption({label: "MiB"});
    await form.getByRole("button", {name: "Create the key"}).click();
    const dialog = page.getByRole("dialog", {name: "The new key"});
    const value = await dialog.locator("input").inputValue();
    ensure(/^cella_/.test(value), `the key: ${value}`);
    await axe(page);
    await dialog.getByRole("button", {name: "I have copied it"}).click();
    await entry(page, "tier standard").nth(1).waitFor();
    ensure(!(await page.content()).includes(value), "the key is still in the document");
    await isText(page);
    ensure((await entry(page, "at most 3").innerText()).includes(SHOWN), "its name");
    const me = await daemon.api("/v1/me", {key: value});
    same([me.capabilities, me.tier, me.sandboxes_max, me.limits.memory_bytes], [["sandbox.exec", "sandbox.manage", "audit"], "standard", 3, 128 << 20], "its rights");
    await entry(page, "at most 3").getByRole("button", {name: "Revoke"}).click();
    await page.getByRole("dialog").getByRole("button", {name: "Revoke"}).click();
    await until(async () => await page.locator(".entry").count() === 1, "one key is left");
    same((await fetch(`${daemon.url}/v1/me`, {headers: {Authorization: `Bearer ${value}`}})).status, 401, "the revoked key");
    await form.getByLabel("Name", {exact: true}).fill("wrong");
    await form.getByLabel("Sandboxes at once").fill("many");
    await form.getByRole("button", {name: "Create the key"}).click();
    await form.locator(".notice-bad").waitFor();
    same(await page.locator(".entry").count(), 1, "keys after a refused one");
});

test("the first key is shown before the page asks for it", async (t) => {
    const daemon = await t.newDaemon(), page = await t.page("/#/keys", {daemon, expects: ["401"]});
    await page.getByText("The first key turns on signing in.").waitFor();
    await page.getByLabel("Name", {exact: true}).fill("first");
    await page.locator("input[value=settings]").check();
    await page.getByRole("button", {name: "Create the key"}).click();
    const value = await page.getByRole("dialog").locator("input").inputValue();
    await page.getByRole("dialog").getByRole("button", {name: "I have copied it"}).click();
    await signIn(page, value);
    await entry(page, "signed in").waitFor();
});

test("a secret is set, changed and removed, and its value is nowhere on the page", async (t) => {
    const daemon = await t.newDaemon(), page = await t.page("/#/secrets", {daemon, expects: ["400"]});
    const form = page.getByRole("form", {name: "Set a secret"}), value = "tok-5f0c\nsecond line";
    const set = async (name, to) => {
        await form.getByLabel("Name").fill(name);
        await form.getByLabel("Value").fill(to);
        await form.getByRole("button", {name: "Set the secret"}).click();
    };
    await set("GITHUB", value);
    await entry(page, "GITHUB").waitFor();
    same(await form.getByLabel("Value").inputValue(), "", "the field of the value");
    ensure(!(await page.content()).includes("tok-5f0c"), "the value is in the document");
    await entry(page, "GITHUB").getByRole("button", {name: "Change GITHUB"}).click();
    same(await form.getByLabel("Name").inputValue(), "GITHUB", "Change fills in the name");
    await form.getByLabel("Value").fill("another value");
    await form.getByRole("button", {name: "Set the secret"}).click();
    await page.locator(".toast", {hasText: "The secret was changed"}).waitFor();
    await set("GITHUB", "abc");
    await form.locator(".notice-bad").waitFor(); // too short; what was typed stays
    same(await form.getByLabel("Name").inputValue(), "GITHUB", "after an error");
    await set(HOSTILE, "long enough");
    await until(async () => await form.locator(".notice-bad").count() === 1, "a hostile name is refused with words");
    await isText(page);
    await entry(page, "GITHUB").getByRole("button", {name: "Remove GITHUB"}).click();
    await page.getByRole("dialog").getByRole("button", {name: "Remove"}).click();
    await page.getByText("No secrets").waitFor();
    same((await daemon.api("/v1/secrets")).secrets, [], "secrets");
});

// An archive of a root file system with one file.
function archive(directory) {
    mkdirSync(join(directory, "root/etc"), {recursive: true});
    writeFileSync(join(directory, "root/etc/issue"), "x\n");
    execFileSync("tar", ["-C", join(directory, "root"), "-cf", join(directory, "image.tar"), "."]);
    return join(directory, "image.tar");
}

test("an archive is imported, listed and removed", async (t) => {
    const daemon = await t.newDaemon(), page = await t.page("/#/images", {daemon, expects: ["400"]});
    const form = page.getByRole("form", {name: "Import an archive"});
    await form.getByLabel("Name").fill("mine:1");
    await form.getByLabel("Archive").setInputFiles(archive(daemon.directory));
    await form.getByRole("button", {name: "Import"}).click();
    await entry(page, "mine:1").waitFor();
    same((await daemon.api("/v1/images")).images.map((image) => image.names), [["mine:1"]], "images");
    await form.getByLabel("Name").fill("bad:1");
    await form.getByLabel("Archive").setInputFiles({name: "x.tar", mimeType: "application/x-tar", buffer: Buffer.from("no archive")});
    await form.getByRole("button", {name: "Import"}).click();
    await form.locator(".notice-bad").waitFor();
    await entry(page, "mine:1").getByRole("button", {name: "Remove mine:1"}).click();
    await page.getByRole("dialog").getByRole("button", {name: "Remove"}).click();
    await page.getByText("No images").waitFor();
    await page.getByRole("button", {name: "Remove unused files"}).click();
    await page.locator(".toast", {hasText: "freed"}).waitFor();
});

test("a pull shows its progress and its error, and can be stopped", async (t) => {
    const page = await t.page("/#/images", {expects: ["ERR_"]}), form = page.getByRole("form", {name: "Pull from a registry"});
    const events = (list) => list.map(([name, data]) => `event: ${name}\ndata: ${JSON.stringify(data)}\n\n`).join("");
    const layers = Array.from({length: 20}, (_, i) => ["progress", {layer: `sha256:${String(i).padStart(64, "0")}`, phase: HOSTILE, done: 25 << 20, total: 50 << 20}]);
    let answer = null;
    await page.route("**/v1/images", async (route) => {
        if (route.request().method() === "POST") answer = route;
        else await route.continue();
    });
    const pull = async () => {
        answer = null;
        await form.getByLabel("Reference").fill("python:3.12-slim");
        await form.getByRole("button", {name: "Pull"}).click();
        await until(() => answer !== null, "the request");
    };
    await pull();
    await page.getByRole("button", {name: "Stop"}).click();
    await page.locator(".toast", {hasText: "The pull was stopped"}).waitFor();
    await pull();
    await answer.fulfill({contentType: "text/event-stream", body: events([...layers, ["error", {error: {kind: "access_denied", message: `access denied: ${HOSTILE}`, hint: "images.registries"}}]])});
    await form.locator(".notice-bad", {hasText: "images.registries"}).waitFor();
    await isText(page);
    // The stream is read to its end at once: so the widget is shown on its own.
    await page.evaluate(async ([list]) => {
        const {Progress} = await import("/ui/images.js");
        const shown = new Progress("x", new AbortController());
        document.querySelector("main").append(shown.element);
        for (const [, data] of list) shown.progress(data);
    }, [layers]);
    await page.getByText("20 layers, 500 MiB of 1,000 MiB").waitFor();
    same(await page.locator(".pull-layers li").count(), 13, "lines: twelve layers, and how many more");
    await isText(page);
});

test("names, labels and sources in the lists of images, pools and sandboxes are text", async (t) => {
    const page = await t.page();
    await page.route("**/v1/images", (route) => route.fulfill({json: {images: [{id: `sha256:${"a".repeat(64)}`, names: [HOSTILE, "b"], bytes: 1, files: 1, created_ms: 0, platform: HOSTILE, source: HOSTILE, runtimes: [{name: HOSTILE}]}]}}));
    const pool = {image: HOSTILE, runtime: HOSTILE, lease: true, preload: [HOSTILE, "-yaml"], limits: {memory_bytes: 1}, size: 1, idle_timeout_ms: 0, waits: HOSTILE, problem: HOSTILE, total: 1, available: 1, making: 0, in_use: 0, hits: 1, misses: 1, refill_ms: 1};
    await page.route("**/v1/pools", (route) => route.fulfill({json: {pools: [pool, {...pool, runtime: "python3", key: HOSTILE, learned: [{module: HOSTILE, executions: 1, import_ms: 1}], executions: 2, saved_ms: 1, memory_bytes: 1}]}}));
    const sandbox = {id: "sbx_aaaaaaaaaaaaaaaaaaaa", name: HOSTILE, state: "running", agent: HOSTILE, session: HOSTILE, created: new Date(0).toISOString(), executions: 0, processes: 0, metadata: {[HOSTILE]: HOSTILE}};
    await page.route(/\/v1\/events/, (route) => route.fulfill({contentType: "text/event-stream", body: `event: sandboxes\ndata: ${JSON.stringify({sandboxes: [sandbox], left_out: 0})}\n\n`}));
    for (const [where, selector] of [["images", ".entry"], ["pools", ".entry"], ["monitor", "tr[data-id]"], ["terminal", ".sandbox-choice"], ["files", ".sandbox-choice"]]) {
        await page.evaluate((to) => { location.hash = `#/${to}`; }, where);
        await page.locator(`.page-${where} ${selector}`).first().waitFor();
        ensure((await page.locator(`.page-${where}`).innerText()).includes(SHOWN), `${where}: ${await page.locator("main").innerText()}`);
        await isText(page);
    }
});

test("names and labels of sandboxes are in every list of them, and follow changes", async (t) => {
    const daemon = await t.newDaemon();
    const {id} = await daemon.api("/v1/sandboxes", {method: "POST", body: {name: "figures", metadata: {project: "quarter", much: "x".repeat(5000)}}});
    const page = await t.page("/#/monitor", {daemon}), row = page.locator(`[data-id="${id}"]`);
    await row.getByText("project: quarter").waitFor();
    ensure((await row.innerText()).includes("figures"), "its name");
    await daemon.api(`/v1/sandboxes/${id}`, {method: "PATCH", body: {metadata: {project: "year"}}});
    await row.getByText("project: year").waitFor();
    for (const where of ["terminal", "files"]) {
        await page.evaluate((to) => { location.hash = `#/${to}`; }, where);
        const choice = page.locator(".sandbox-choice", {hasText: "figures"});
        await choice.getByText("project: year").waitFor();
        await choice.click();
        await page.locator(".page-title", {hasText: "figures"}).waitFor();
    }
});

test("pools show what is preloaded and why, and lend sandboxes", async (t) => {
    const daemon = await t.newDaemon({pools: [{runtime: "python3", size: 1, preload: ["json", "-csv"], lease: 1}, {runtime: "sh", size: 1}]});
    const page = await t.page("/#/pools", {daemon});
    await entry(page, "Pool of python3").getByText("As the setting says: json, csv (hidden until imported).").waitFor();
    await entry(page, "Pool of sh").waitFor();
    await entry(page, "Spare sandboxes").getByText("for requests that no pool serves").waitFor();
    await until(async () => (await entry(page, "Pool of python3").innerText()).includes("1 of 1 ready"), "a member is ready");
    await daemon.api("/v1/exec", {method: "POST", body: {runtime: "python3", code: "print(1)"}});
    await until(async () => /1 of 1 request found a member|no request yet|0 of 1 request found/.test(await entry(page, "Pool of python3").innerText())
        && !(await entry(page, "Pool of python3").innerText()).includes("no request yet"), "the counters follow");
    await page.getByRole("button", {name: "Lease one for python3"}).click();
    const lease = page.getByRole("region", {name: "Leased on this page"}).locator(".entry");
    await lease.waitFor();
    same((await daemon.api("/v1/sandboxes")).sandboxes.length, 1, "leased sandboxes");
    await lease.getByRole("button", {name: "Give back"}).click();
    await lease.waitFor({state: "detached"});
    await until(async () => (await daemon.api("/v1/sandboxes")).sandboxes.length === 0, "it was given back");
    await page.getByRole("link", {name: "Settings of pools"}).click();
    await until(() => page.evaluate(() => document.activeElement?.closest("[data-path=pools]") !== null && document.activeElement?.getBoundingClientRect().top < innerHeight), "the settings of pools are shown");
});

test("a directory is offered under a name and removed, and changes of others are kept", async (t) => {
    const daemon = await t.newDaemon(), page = await t.page("/#/volumes", {daemon, expects: ["400", "412"]});
    const form = page.getByRole("form", {name: "Offer a directory"}), mounts = async () => (await daemon.api("/v1/settings")).mounts.map((m) => [m.name, m.path, m.mode]);
    const offer = async (name, path) => {
        await form.getByLabel("Name").fill(name);
        await form.getByLabel("Directory").fill(path);
        await form.getByRole("button", {name: "Offer it"}).click();
    };
    const [a, b, c] = ["a", "b", "c"].map((name) => join(daemon.directory, name));
    for (const path of [a, b, c]) mkdirSync(path);
    await offer("datasets", a);
    await entry(page, "datasets").waitFor();
    same(await mounts(), [["datasets", a, "ro"]], "offered");
    await offer("system", "/etc");
    await form.locator(".notice-bad").waitFor();
    await daemon.api("/v1/settings", {method: "PATCH", body: {mounts: [{name: "datasets", path: a}, {name: "other", path: b}]}});
    await offer("more", c);
    await entry(page, "other").waitFor(); // shown, and nothing was overwritten
    same((await mounts()).map(([name]) => name), ["datasets", "other"], "after a change by another client");
    await entry(page, "datasets").getByRole("button", {name: "Remove datasets"}).click();
    await page.getByRole("dialog").getByRole("button", {name: "Remove"}).click();
    await entry(page, "datasets").waitFor({state: "detached"});
    same((await mounts()).map(([name]) => name), ["other"], "after removing");
});

test("a key without a capability sees an explanation on each page, and no button that it may not use", async (t) => {
    const daemon = await t.newDaemon(), page = await t.page("/", {daemon, expects: ["401"], wait: false});
    const {key} = await daemon.api("/v1/keys", {method: "POST", body: {name: "runner", capabilities: ["sandbox.exec"]}});
    await page.reload();
    await signIn(page, key);
    await page.waitForSelector(".run");
    const menu = (await page.locator(".side nav a").allInnerTexts()).sort();
    same(menu, ["Executions", "Images", "Monitor", "Pools", "Terminal", "Try it"], "menu");
    for (const [where, capability] of [["keys", "settings"], ["secrets", "secrets"], ["volumes", "settings"], ["settings", "settings"], ["files", "files"]]) {
        await page.evaluate((to) => { location.hash = `#/${to}`; }, where);
        await page.locator(`.page-${where}`, {hasText: `needs the capability ${capability}`}).waitFor();
        await axe(page);
    }
    await page.evaluate(() => { location.hash = "#/images"; });
    await page.getByText("it needs the capability images").waitFor();
    same(await page.locator(".page-images button, .page-images form").count(), 0, "buttons and forms on the page of images");
    await page.evaluate(() => { location.hash = "#/pools"; });
    await entry(page, "Pool of python3").waitFor();
    await page.getByText("The counters need the capability monitor.").waitFor();
    ensure(!/undefined|null|NaN/.test(await page.locator("main").innerText()), await page.locator("main").innerText());
    // A key with settings that is not the owner sees the volumes, but cannot offer directories.
    const admin = execFileSync((await import("./harness.mjs")).options.cella, ["key", "add", "admin", "--capability", "settings", "--json", "--socket", `${daemon.directory}/sock`], {encoding: "utf8"});
    const other = await t.page("/#/volumes", {daemon, expects: ["401"]});
    await signIn(other, JSON.parse(admin).key);
    await other.getByText("Only the owner of the daemon can offer directories").waitFor();
    same(await other.locator(".page-volumes form").count(), 0, "forms");
});
