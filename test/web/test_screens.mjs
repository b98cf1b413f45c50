// With CELLA_SCREENS=1: pictures of every page for doc/screens, light and dark, wide and narrow.
import {execFileSync} from "node:child_process";
import {mkdirSync, readdirSync, rmSync, statSync, writeFileSync} from "node:fs";
import {dirname, join} from "node:path";
import {fileURLToPath} from "node:url";
import {ensure, options, run, sleep, test, until} from "./harness.mjs";
import {shrink} from "./png.mjs";

const PLACE = join(dirname(fileURLToPath(import.meta.url)), "../../doc/screens");
const SIZES = {wide: [1280, 800], narrow: [390, 844]};
const TOTAL = 2.5 * 1024 * 1024;

// A root file system with one file.
async function importImage(daemon, name) {
    const root = join(daemon.directory, "root");
    mkdirSync(join(root, "etc"), {recursive: true});
    writeFileSync(join(root, "etc/issue"), `${name}\n`);
    const response = await fetch(`${daemon.url}/v1/images/import?name=${encodeURIComponent(name)}`, {method: "POST", body: execFileSync("tar", ["-C", root, "-cf", "-", "."])});
    ensure(response.ok, `importing ${name}: ${response.status}`);
}

// Something to look at: sandboxes of several agents, executions that ended in several ways, files.
async function furnish(daemon) {
    const post = (path, body) => daemon.api(path, {method: "POST", body}).catch(() => null);
    const made = [];
    for (const [agent, name, project] of [["analyst", "figures", "quarter"], ["tester", "nightly", "release"], ["scraper", null, "prices"]]) made.push(await post("/v1/sandboxes", {agent, ...name && {name}, metadata: {project}}));
    await post(`/v1/sandboxes/${made[2].id}/pause`, {});
    const codes = [["python3", "print(sum(range(10)))"], ["sh", "ls /; exit 2"], ["python3", "import json\nprint(json.dumps({'ok': True}))"], ["node", "console.log([1, 2].map(n => n * 2))"],
        ["python3", "import ctypes\nctypes.CDLL(None).mount(b'none', b'/mnt', b'tmpfs', 0, None)"], ["sh", "echo building; sleep 0.2; echo done"], ["python3", "raise ValueError('no such row')"]];
    for (const [i, [runtime, code]] of codes.entries()) await post("/v1/exec", {runtime, code, agent: ["analyst", "tester"][i % 2], scope: "execution"});
    for (const name of ["GITHUB_TOKEN", "DATABASE_URL"]) await daemon.api(`/v1/secrets/${name}`, {method: "PUT", body: {value: "not a real value"}});
    await daemon.api("/v1/settings", {method: "PATCH", body: {mounts: [{name: "datasets", path: "/srv"}]}});
    for (const name of ["tools:1", "reports:2025.11"]) await importImage(daemon, name);
    await post("/v1/exec", {runtime: "sh", code: "sleep 5", timeout_ms: 300});
    const code = "import os, csv\nfor d in ('data', 'report'): os.makedirs(d, exist_ok=True)\nopen('data/visits.csv', 'w').write('day,visits\\n1,120\\n2,340\\n')\nopen('report/summary.md', 'w').write('# Visits\\n\\nTwo days, 460 visits.\\n')\nopen('main.py', 'w').write('import csv\\n\\nwith open(\"data/visits.csv\") as f:\\n    print(sum(int(row[\"visits\"]) for row in csv.DictReader(f)))\\n')";
    await post(`/v1/sandboxes/${made[0].id}/exec`, {runtime: "python3", code});
    return made[0].id;
}

async function picture(page, name, theme, size) {
    await page.evaluate(() => document.activeElement?.blur());
    await page.mouse.move(0, 0);
    await sleep(250);
    writeFileSync(join(PLACE, `${name}-${theme}-${size}.png`), shrink(await page.screenshot()));
}

const VISITS = {
    try: async (page) => {
        await sleep(1000); // the browser is busy with itself until then, and the times are in the picture
        await page.selectOption("select[aria-label=Examples]", {label: "A plot"});
        await run(page);
        await page.getByRole("button", {name: "Compare with a start without Cella"}).click();
        await until(async () => await page.locator(".timing-row").count() === 2, "the times are there");
        await page.evaluate(() => scrollTo(0, 0));
    },
    settings: async (page) => { await page.waitForSelector(".settings-card"); },
    monitor: async () => { await sleep(4500); },
    executions: async () => { await sleep(800); },
    terminal: async (page) => {
        await page.waitForSelector(".xterm-rows");
        await sleep(600);
        await page.keyboard.type("ls -l; python3 main.py\n");
        await sleep(900);
    },
    files: async () => { await sleep(800); },
    notebook: async (page) => {
        await page.fill(".editor-input", "import math\nwaves = [math.sin(x / 5) for x in range(60)]\nsum(waves)");
        await page.focus(".editor-input");
        await page.keyboard.press("Shift+Enter");
        await page.waitForSelector(".cell .result");
        await page.locator(".cell .editor-input").nth(1).fill("print(f'{max(waves):.3f} is the highest of {len(waves)}')");
        await page.keyboard.press("Control+Enter");
        await page.locator(".cell .out").waitFor();
    },
    pools: async (page) => { await page.waitForSelector(".entry"); await sleep(1200); },
    images: async (page) => { await page.waitForSelector(".entry"); },
    volumes: async (page) => { await page.waitForSelector(".entry"); },
    keys: async (page) => { await page.waitForSelector(".empty"); },
    secrets: async (page) => { await page.waitForSelector(".entry"); },
};

if (options.screens) test("pictures of every page", async (t) => {
    rmSync(PLACE, {recursive: true, force: true});
    mkdirSync(PLACE, {recursive: true});
    const daemon = await t.newDaemon();
    const id = await furnish(daemon);
    const chores = [["sh", "make test 2>/dev/null || echo 'nothing to make'"], ["python3", "import statistics as s\nprint(s.mean([1, 2, 3]))"], ["sh", "grep -c . /etc/passwd"],
        ["python3", "print({n: n ** 2 for n in range(4)})"], ["python3", "open('missing.csv')"], ["sh", "seq 3 | paste -sd+ | bc"]];
    let turn = 0, at = "";
    const busy = setInterval(() => {
        if (at === "try" || at === "notebook") return;
        const [runtime, code] = chores[turn++ % chores.length];
        daemon.api("/v1/exec", {method: "POST", body: {runtime, code, agent: ["analyst", "tester", "scraper"][turn % 3], scope: "execution"}}).catch(() => {});
    }, 150);
    for (const theme of ["light", "dark"]) for (const [size, [width, height]] of Object.entries(SIZES)) {
        for (const name of Object.keys(VISITS)) {
            const page = await t.page(`/#/${name}${["terminal", "files"].includes(name) ? `/${id}` : ""}`, {daemon, theme, width, height, expects: [""]});
            at = name;
            await VISITS[name](page);
            await picture(page, name, theme, size);
            await page.context().close();
        }
    }
    clearInterval(busy);
    await daemon.api("/v1/keys", {method: "POST", body: {name: "k"}});
    await picture(await t.page("/", {daemon, expects: ["401"]}), "sign-in", "light", "wide");
    const total = readdirSync(PLACE).reduce((n, name) => n + statSync(join(PLACE, name)).size, 0);
    console.log(`     pictures: ${Math.round(total / 1024)} KB`);
    ensure(total < TOTAL, `they have ${total} bytes`);
});
