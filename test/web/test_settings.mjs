// "Sandbox": the settings, checked by the daemon's own rules, saved in one step, without losing concurrent changes.
import {AWAY, ensure, same, sleep, test, until} from "./harness.mjs";

const open = async (t, settings, more) => {
    const daemon = await t.newDaemon(settings);
    const page = await t.page("/#/settings", {daemon, ...more});
    await page.waitForSelector(".settings-card");
    return {daemon, page, settings: () => daemon.api("/v1/settings")};
};
const save = (page) => page.click(".save-bar button:has-text('Save')");
const saved = (page) => page.waitForSelector(".toast:has-text('Saved')");
const undo = (page) => page.locator("button:has-text('Undo last save')").press("Enter"); // a toast may lie over it
const errorOf = (page, path) => page.locator(`[data-path="${path}"] .field-error`).innerText();

test("every setting of the schema is on the page, with its description", async (t) => {
    const {daemon, page} = await open(t);
    const {components} = await daemon.api("/openapi.json");
    const paths = (schema, prefix = "") => Object.entries(schema.properties).flatMap(([name, field]) =>
        field.type === "object" && field.properties ? paths(field, `${prefix}${name}.`) : [[prefix + name, field]]);
    for (const [path, field] of paths(components.schemas.Settings)) {
        const row = page.locator(`[data-path="${path}"]`);
        if (field.description?.startsWith("must be null")) {
            same(await row.count(), 0, `rows of ${path}, which is no choice`);
            continue;
        }
        same(await row.count(), 1, `rows of ${path}`);
        ensure(await row.locator("input, select, textarea, button").count() > 0, `${path} has no control`);
        if (field.description) ensure((await row.innerText()).length > field.description.length * 0.7, `${path} is not explained: ${await row.innerText()}`);
    }
    for (const word of ["Mode", "Scope", "Workspace access", "CPU cores", "Memory", "Disk", "Processes", "Timeout", "Allowed domains", "Blocked domains", "Image", "Default runtimes", "Pools"])
        ensure(await page.locator(`.setting-title:text-is("${word}")`).count() === 1, `no ${word}`);
});

test("changes are saved in one step, persist, and can be undone", async (t) => {
    const {page, settings} = await open(t);
    const before = await settings();
    await page.check("[data-path=mode] input[value=selective]");
    await page.check("[data-path=scope] input[value=agent]");
    await page.fill("#f-limits-cpus", "0.5");
    await page.fill("#f-limits-memory_bytes", "1.5");
    await page.selectOption("[data-path='limits.memory_bytes'] select", {label: "GiB"});
    await page.fill("#f-limits-timeout_ms", "90");
    await page.selectOption("[data-path='limits.timeout_ms'] select", {label: "seconds"});
    await page.check("[data-path='network.tier'] input[value=standard]");
    await page.fill("#f-network-allowed_domains", "pypi.org\n*.pythonhosted.org");
    await page.fill("#f-network-blocked_domains", "evil.example");
    await page.uncheck("#f-audit-keep_output", {force: true});
    await page.locator("[data-path=pools] .pool").nth(1).locator("button").click();
    await page.locator("[data-path=pools] .pool input").nth(1).fill("2");
    ensure((await page.locator(".save-bar").innerText()).includes("10 changes"), await page.locator(".save-bar").innerText());
    await save(page);
    await saved(page);
    const now = await settings();
    same([now.mode, now.scope, now.limits.cpus, now.limits.memory_bytes, now.limits.timeout_ms], ["selective", "agent", 0.5, 1.5 * 1024 ** 3, 90000], "saved");
    same([now.network.tier, now.network.allowed_domains, now.network.blocked_domains, now.audit.keep_output], ["standard", ["pypi.org", "*.pythonhosted.org"], ["evil.example"], false], "saved");
    same(now.pools, [{runtime: "python3", size: 2, preload: before.pools[0].preload}, before.pools[2]], "pools");
    same(await page.locator(".save-bar").isVisible(), false, "the bar is still there");
    await undo(page);
    await until(async () => JSON.stringify(await settings()) === JSON.stringify(before), "all is as before");
    await until(async () => await page.inputValue("#f-limits-cpus") === "1", "the page shows it");
});

test("a click on Save works if the daemon's check of the typed value arrives during the click", async (t) => {
    const {page, settings} = await open(t);
    let answer;
    const down = new Promise((resolve) => { answer = resolve; });
    await page.route("**/v1/settings?check=1", async (route) => { await down; await route.continue(); });
    const checked = page.waitForResponse((response) => response.url().includes("check=1"));
    await page.fill("#f-limits-processes", "65");
    await page.hover(".save-bar button:has-text('Save')");
    await page.mouse.down();
    answer();
    await checked;
    await sleep(100); // the page has shown it
    await page.mouse.up();
    await saved(page);
    same((await settings()).limits.processes, 65, "saved");
});

test("invalid values are reported while typing, by the schema and by the daemon, and cannot be saved", async (t) => {
    const {daemon, page, settings} = await open(t, {}, {expects: ["400"]});
    const before = await settings();
    await page.fill("#f-limits-processes", "0");
    same(await errorOf(page, "limits.processes"), "At least 1.", "a range");
    await page.fill("#f-limits-processes", "many");
    same(await errorOf(page, "limits.processes"), "This is not a number.", "letters");
    ensure(await page.locator(".save-bar button:has-text('Save')").isDisabled(), "it can be saved");
    same(await page.getAttribute("#f-limits-processes", "aria-invalid"), "true", "marked for a screen reader");
    await page.fill("#f-limits-processes", "65");
    await page.fill("#f-network-allowed_domains", "good.example\nhttp://bad.example/");
    await until(async () => (await errorOf(page, "network.allowed_domains")).includes("cannot be 'http://bad.example/'"), "the daemon's own words are there");
    ensure(await page.locator(".save-bar button:has-text('Save')").isDisabled(), "it can be saved");
    await page.fill("#f-network-allowed_domains", "good.example");
    await page.check("[data-path=workspace] input[value=rw]");
    await until(async () => (await page.locator(".save-bar, [data-path=workspace]").allInnerTexts()).join().includes("needs workspace_root"), "a rule about two settings");
    await page.fill("#f-workspace_root", "relative");
    await until(async () => (await errorOf(page, "workspace_root")).includes("absolute"), "a rule that only the daemon has");
    await page.fill("#f-workspace_root", "/no/such/directory");
    await until(async () => (await errorOf(page, "workspace_root")).includes("No such file"), "a rule that only the keeper has");
    same(await settings(), before, "nothing was changed by checking");
    await page.fill("#f-workspace_root", "/srv");
    await until(async () => !await page.locator(".save-bar button:has-text('Save')").isDisabled(), "it can be saved now");
    await save(page);
    await saved(page);
    same([(await daemon.api("/v1/settings")).limits.processes, (await settings()).workspace_root], [65, "/srv"], "saved");
});

test("descriptions are sentences, without names of fields and without null", async (t) => {
    const {page} = await open(t), text = await page.locator(".settings").innerText();
    ensure(!/Cluster|Allowed_domains|\bnull\b/.test(text), text.match(/.*(Cluster|Allowed_domains|\bnull\b).*/)?.[0]);
});

test("an invalid field is named beside Save, and a press on its name leads to it", async (t) => {
    const {page} = await open(t, {}, {expects: ["400"]});
    await page.fill("#f-limits-processes", "0");
    await page.fill("#f-audit-keep_days", "-4");
    await page.evaluate(() => scrollTo(0, 0));
    same((await page.locator(".save-wrong li").allInnerTexts()).map((text) => text.split(":")[0]).sort(), ["Days kept", "Processes"], "named");
    const seen = () => page.locator("#f-audit-keep_days").evaluate((e) => { const box = e.getBoundingClientRect(); return box.top >= 0 && box.bottom <= innerHeight && document.activeElement === e; });
    ensure(!await seen(), "the field is out of sight first");
    await page.locator(".save-wrong button", {hasText: "Days kept"}).click();
    await until(seen, "the field is shown and has the focus");
    await page.fill("#f-audit-keep_days", "4");
    await page.fill("#f-limits-processes", "65");
    await page.fill("#f-network-allowed_domains", "http://bad.example/");
    await page.locator(".save-wrong button", {hasText: "Allowed domains"}).click(); // refused by the daemon
    await until(() => page.evaluate(() => document.activeElement.id === "f-network-allowed_domains"), "the focus");
});

test("a change by another client meanwhile is shown, not overwritten", async (t) => {
    const {daemon, page, settings} = await open(t, {}, {expects: ["412"]});
    await page.fill("#f-limits-processes", "99");
    await page.fill("#f-limits-open_files", "500");
    await daemon.api("/v1/settings", {method: "PATCH", body: {limits: {processes: 11, cpus: 2}}});
    await save(page);
    await page.waitForSelector("dialog:has-text('Changed elsewhere')");
    const dialogText = await page.locator("dialog").innerText();
    ensure(dialogText.includes("CPU cores") && dialogText.includes("you changed it, too"), dialogText);
    same((await settings()).limits.processes, 11, "not overwritten");
    await page.click("dialog button:has-text('Apply my changes to them')");
    await until(async () => await page.inputValue("#f-limits-cpus") === "2", "theirs are shown");
    same(await page.inputValue("#f-limits-processes"), "99", "mine are on top");
    await save(page);
    await saved(page);
    const {limits} = await settings();
    same([limits.processes, limits.open_files, limits.cpus], [99, 500, 2], "both are in");
    await page.fill("#f-limits-processes", "7");
    await daemon.api("/v1/settings", {method: "PATCH", body: {limits: {cpus: 3}}});
    await save(page);
    await page.click("dialog button:has-text('Drop my changes')");
    await until(async () => await page.inputValue("#f-limits-cpus") === "3" && await page.inputValue("#f-limits-processes") === "99", "theirs hold");
});

test("undo asks, too, if another client has saved since", async (t) => {
    const {daemon, page, settings} = await open(t, {}, {expects: ["412"]});
    await page.fill("#f-limits-processes", "70");
    await save(page);
    await saved(page);
    await daemon.api("/v1/settings", {method: "PATCH", body: {limits: {cpus: 4}}});
    await undo(page);
    await page.waitForSelector("dialog:has-text('Changed elsewhere')");
    same((await settings()).limits.cpus, 4, "not overwritten");
});

test("undo restores the page's own changes, and keeps later changes of other clients", async (t) => {
    const {daemon, page, settings} = await open(t), before = (await settings()).limits;
    const elsewhere = async (limits, shows) => {
        await daemon.api("/v1/settings", {method: "PATCH", body: {limits}});
        await page.evaluate(() => document.dispatchEvent(new Event("visibilitychange"))); // as when one comes back to the tab
        await until(async () => await page.inputValue(shows[0]) === shows[1], "the page shows it");
    };
    await page.fill("#f-limits-processes", "70");
    await save(page);
    await saved(page);
    await elsewhere({cpus: 4}, ["#f-limits-cpus", "4"]);
    await undo(page);
    await until(async () => (await settings()).limits.processes === before.processes, "mine is as before");
    same((await settings()).limits.cpus, 4, "theirs");
    await page.locator("button:has-text('Undo last save')").waitFor({state: "hidden"});
    await page.fill("#f-limits-processes", "80");
    await page.fill("#f-limits-open_files", "500");
    await save(page);
    await until(async () => (await settings()).limits.open_files === 500, "saved");
    await page.locator("button:has-text('Undo last save')").waitFor();
    await elsewhere({processes: 90}, ["#f-limits-processes", "90"]);
    await undo(page);
    await page.waitForSelector(".toast:has-text('Changed again since, and not undone: Processes.')");
    await until(async () => (await settings()).limits.open_files === before.open_files, "mine is as before");
    same((await settings()).limits.processes, 90, "what they have made of mine");
});

test("turning the sandbox off asks first", async (t) => {
    const {page, settings} = await open(t);
    await page.check("[data-path=mode] input[value=off]");
    await save(page);
    await page.click("dialog button:has-text('Cancel')");
    same((await settings()).mode, "all", "after Cancel");
    await save(page);
    await page.click("dialog button:has-text('Turn it off')");
    await saved(page);
    same((await settings()).mode, "off", "after the other");
});

test("unsaved changes stay during a visit to another page, and can be dropped", async (t) => {
    const {page} = await open(t);
    await page.fill("#f-limits-processes", "55");
    await page.click(".side nav >> text=Try it");
    await page.waitForSelector(".editor");
    await page.click(".side nav >> text=Sandbox");
    await page.waitForSelector(".save-bar:not([hidden])");
    same(await page.inputValue("#f-limits-processes"), "55", "it is still there");
    await page.click("button:has-text('Discard')");
    same(await page.inputValue("#f-limits-processes"), "64", "dropped");
    await page.fill("#f-limits-processes", "55");
    await page.click("[data-path='limits.processes'] >> text=Use the default");
    same(await page.inputValue("#f-limits-processes"), "64", "the default");
    same(await page.locator(".save-bar").isVisible(), false, "nothing is to be saved");
});

test("unsaved settings survive a restart of the daemon, and can be saved then", async (t) => {
    const {daemon, page, settings} = await open(t, {}, {expects: [...AWAY, "fetch"]});
    await page.fill("#f-limits-processes", "44");
    await daemon.halt();
    await save(page);
    await page.waitForSelector(".banner:not([hidden])");
    await daemon.launch();
    await page.waitForSelector(".banner", {state: "hidden"});
    same(await page.inputValue("#f-limits-processes"), "44", "what was typed");
    await sleep(100);
    await save(page);
    await saved(page);
    same((await settings()).limits.processes, 44, "saved");
});
