// Every page on every screen: nothing is wider than the window, axe-core finds nothing, and the browser logs nothing.
import {axe, ensure, run, same, test, until} from "./harness.mjs";

const WIDTHS = [1440, 768, 390, 320];
const LONG = "a-name-that-is-as-long-as-names-may-be-".repeat(3).slice(0, 60);

// Something in each list, with long names.
async function furnish(daemon, key) {
    const post = (path, body, method = "POST") => daemon.api(path, {method, body, key});
    const made = await post("/v1/sandboxes", {name: LONG, agent: "an-agent", metadata: {project: "quarterly figures", [LONG]: LONG}});
    for (const code of ["print('x' * 300)", "import sys\nsys.exit(3)"]) await post(`/v1/sandboxes/${made.id}/exec`, {runtime: "python3", code});
    await post("/v1/secrets/" + LONG, {value: "a secret value"}, "PUT");
    return made.id;
}

async function pagesOf(page) {
    return page.evaluate(() => [...document.querySelectorAll(".side nav a")].map((a) => a.getAttribute("href").slice(2)));
}

async function open(page, where) {
    await page.evaluate((to) => { location.hash = `#/${to}`; }, where);
    await page.waitForSelector(`main.page-${where.split("/")[0]} > *:not(.loading)`);
    await until(() => page.evaluate(() => document.querySelector(".loading") === null), `${where} is loaded`);
}

async function checkAll(page, names, width) {
    for (const name of names) {
        await open(page, name);
        for (const colorScheme of ["light", "dark"]) {
            await page.emulateMedia({colorScheme});
            const at = `${name} at ${width}, ${colorScheme}`;
            await axe(page).catch((error) => { throw new Error(`${at}: ${error.message}`); });
            const [wide, outside] = await page.evaluate(() => [document.documentElement.scrollWidth - innerWidth, [...document.querySelectorAll("body *")]
                .filter((e) => e.getBoundingClientRect().right > innerWidth + 1).slice(0, 4).map((e) => `${e.localName}.${e.className}`)]);
            ensure(wide <= 0, `${at}: ${wide} pixels are outside of the window: ${outside}`);
        }
    }
}

for (const width of WIDTHS)
    test(`every page fits into ${width} pixels, without findings of axe-core and errors, light and dark`, async (t) => {
        const daemon = await t.newDaemon(), id = await furnish(daemon);
        const page = await t.page("/", {daemon, width, height: width < 500 ? 844 : 900});
        await run(page, "import sys\nprint('out')\nprint('err', file=sys.stderr)\nopen('a-file-with-a-long-name-'+'x'*60, 'w')\n{'a': 1}");
        const names = await pagesOf(page);
        ensure(names.length >= 11, `pages: ${names}`);
        const {executions} = await daemon.api("/v1/executions");
        await checkAll(page, [...names, `terminal/${id}`, `files/${id}`, `executions/${executions[0].id}`], width);
        if (width <= 760) {
            await page.getByRole("button", {name: "More"}).click();
            await axe(page);
            same(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth), true, "the dialog with all pages fits");
        }
        await page.goto("about:blank"); // without a key, it would be refused from now on
        // The keys: from the first one on, the page asks for it.
        const {key} = await daemon.api("/v1/keys", {method: "POST", body: {name: LONG, tier: "elevated", secrets: ["*"], limits: {memory_bytes: 1 << 30, processes: 32},
            capabilities: ["sandbox.exec", "sandbox.manage", "files", "images", "secrets", "settings", "audit", "monitor", "host.exec"]}});
        const other = await t.page("/#/keys", {daemon, width, height: 844, expects: ["401"]});
        await axe(other);
        await other.fill("#key", key);
        await other.keyboard.press("Enter");
        await other.waitForSelector(".entry");
        await checkAll(other, ["keys", "volumes"], width);
    });
