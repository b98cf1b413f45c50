// harness.mjs -- what the tests of the web page stand on: real daemons, a real browser, and eyes on both.
//
// A test is test("what it proves", async (t) => …).  t.page(…) opens a page that fails the test by itself if it logs an
// error, throws, asks another origin for anything, or opens a dialog of the browser, unless the test says it expects that.
import {spawn} from "node:child_process";
import {chmodSync, mkdtempSync, readFileSync, rmSync} from "node:fs";
import {createRequire} from "node:module";
import net from "node:net";
import {tmpdir} from "node:os";
import {join} from "node:path";

export const options = {cella: null, npm: null, only: null, j: 2, chromium: process.env.CHROMIUM ?? "/usr/bin/chromium", screens: process.env.CELLA_SCREENS === "1"};
export const tests = [];
export const test = (name, run, about = {}) => tests.push({name, run, ...about});

export class Skip extends Error {}
// A deadline of the test was missed: it is repeated.  Not for wrong values.
export class Late extends Error {}
// What the browser logs while a daemon stops and starts again.  During its start, /healthz answers 503.
export const AWAY = ["ERR_", "Failed to fetch", /status of 503 \(Service Unavailable\) \(http:[^)]*\/healthz\)$/];
export const sleep = (ms) => new Promise((done) => setTimeout(done, ms));

export function ensure(truth, message) {
    if (!truth) throw new Error(typeof message === "function" ? message() : message);
}

export function same(got, wanted, what = "value") {
    const [a, b] = [JSON.stringify(got), JSON.stringify(wanted)];
    if (a !== b) throw new Error(`${what}: got ${shorten(a)}, wanted ${shorten(b)}`);
}

const shorten = (text) => text?.length > 400 ? `${text.slice(0, 400)}… (${text.length})` : text;

export function inTime(ms, limit, what) {
    if (!(ms < limit)) throw new Late(`${what} took ${Math.round(ms)} ms, more than ${limit} ms`);
}

// Until fn() is true (or does not throw); else what it said last.
export async function until(fn, what, ms = 60000) {
    let said = "";
    for (const end = Date.now() + ms; Date.now() < end; await sleep(25)) {
        try {
            const value = await fn();
            if (value) return value;
        } catch (error) { said = `: ${error.message}`; }
    }
    throw new Late(`${what} did not come true in ${ms} ms${said}`);
}

/* ---- the daemon ---- */
function freePort() {
    return new Promise((resolve, reject) => {
        const server = net.createServer().on("error", reject).listen(0, "127.0.0.1", () => {
            const {port} = server.address();
            server.close(() => resolve(port));
        });
    });
}

export class Daemon {
    static async start(settings = {}) {
        const daemon = new Daemon();
        daemon.directory = mkdtempSync(join(tmpdir(), "cella-web-"));
        chmodSync(daemon.directory, 0o755); // the server is another user
        daemon.port = await freePort();
        daemon.url = `http://127.0.0.1:${daemon.port}`;
        try {
            await daemon.launch();
        } catch (error) {
            await daemon.stop();
            throw error;
        }
        if (Object.keys(settings).length > 0) await daemon.api("/v1/settings", {method: "PATCH", body: settings});
        return daemon;
    }

    async launch() {
        this.log = "";
        this.process = spawn(options.cella, ["serve", "--listen", `127.0.0.1:${this.port}`, "--socket", join(this.directory, "sock"), "--state", join(this.directory, "state")],
            {stdio: ["ignore", "pipe", "pipe"]});
        const listen = (data) => { this.log = (this.log + data).slice(-20000); };
        this.process.stdout.on("data", listen);
        this.process.stderr.on("data", listen);
        this.ended = new Promise((resolve) => this.process.once("exit", resolve));
        await until(async () => {
            ensure(this.process.exitCode === null, `cella serve ended: ${this.log}`);
            return (await fetch(`${this.url}/healthz`)).ok;
        }, "the daemon is ready");
    }

    // Settings, keys and sandboxes stay on disk: launch() goes on with them.
    async halt(signal = "SIGTERM") {
        if (this.process.exitCode === null && this.process.signalCode === null) this.process.kill(signal);
        await Promise.race([this.ended, sleep(15000).then(() => this.process.kill("SIGKILL"))]);
        await this.ended;
    }

    async stop() {
        await this.halt();
        rmSync(this.directory, {recursive: true, force: true});
    }

    // As a client that is no browser; throws unless the answer is 2xx.
    async api(path, {method = "GET", body, headers = {}, key} = {}) {
        const sent = key ? {...headers, Authorization: `Bearer ${key}`} : headers;
        const response = await fetch(this.url + path, {method, headers: sent, body: body === undefined ? undefined : JSON.stringify(body)});
        const text = await response.text();
        ensure(response.ok, `${method} ${path}: ${response.status} ${text}`);
        return text ? JSON.parse(text) : null;
    }
}

/* ---- the browser ---- */
let browser = null;

export async function openBrowser() {
    const {chromium} = createRequire(join(options.npm, "package.json"))("playwright-core");
    const args = ["--disable-gpu", "--font-render-hinting=none"];
    if (process.getuid() === 0) args.push("--no-sandbox");
    browser = await chromium.launch({executablePath: options.chromium, args});
}

export const closeBrowser = () => browser?.close();

// What one test may use; everything it opened is closed after it.
export class Trial {
    constructor(name, shared) {
        Object.assign(this, {name, shared, contexts: [], daemons: [], complaints: []});
    }

    // The one that most tests share; it has the default settings and no keys.
    get daemon() { return this.shared.daemon; }

    async newDaemon(settings) {
        const daemon = await Daemon.start(settings);
        this.daemons.push(daemon);
        return daemon;
    }

    // expects: patterns of console errors that belong to the test ("401", or a regular expression).
    async page(path = "/", {daemon = this.daemon, width = 1280, height = 900, theme = "light", expects = [], wait = true, ...more} = {}) {
        const context = await browser.newContext({viewport: {width, height}, colorScheme: theme, acceptDownloads: true, ...more});
        this.contexts.push(context);
        const page = await context.newPage();
        page.setDefaultTimeout(60000);
        const complain = (text) => { if (!expects.some((pattern) => pattern instanceof RegExp ? pattern.test(text) : text.includes(pattern))) this.complaints.push(text); };
        page.on("console", (message) => { if (["error", "warning"].includes(message.type())) complain(`console: ${message.text()} (${message.location().url})`); });
        page.on("pageerror", (error) => complain(`thrown: ${error.message}`));
        page.on("dialog", (dialog) => { if (dialog.type() !== "beforeunload") complain(`dialog: ${dialog.message()}`); dialog.accept().catch(() => {}); });
        page.on("request", (request) => {
            const url = request.url();
            if (!url.startsWith(`${daemon.url}/`) && !/^(blob|data|about):/.test(url)) complain(`asked another origin: ${url}`);
            if (/cella_[A-Za-z0-9_-]{20}/.test(url)) complain(`a key is in an address: ${url}`);
        });
        await page.goto(daemon.url + path);
        if (wait) await page.waitForSelector("main.page > *");
        return page;
    }

    async done() {
        for (const context of this.contexts) await context.close();
        for (const daemon of this.daemons) await daemon.stop();
        ensure(this.complaints.length === 0, () => this.complaints.slice(0, 5).join("\n"));
    }
}

/* ---- accessibility ---- */
// Everything that axe-core finds.  Evaluated by the browser's debugger, which the page's CSP does not bind.
export async function axe(page) {
    const source = readFileSync(join(options.npm, "node_modules/axe-core/axe.min.js"), "utf8");
    await page.evaluate(source);
    const violations = await page.evaluate(async () => (await globalThis.axe.run(document, {resultTypes: ["violations"]})).violations
        .map((v) => `${v.id}: ${v.nodes.slice(0, 4).map((n) => `${n.target.join(" ")} ${n.any[0]?.message ?? ""}`).join("; ")}`));
    same(violations, [], "findings of axe-core");
}

/* ---- a page that stands still ---- */
// From now on; the answer tells for how long it did, at most, in ms.
export async function watchFrames(page) {
    await page.evaluate(() => {
        window.longest = 0;
        let last = performance.now();
        const tick = () => {
            const now = performance.now();
            window.longest = Math.max(window.longest, now - last);
            last = now;
            requestAnimationFrame(tick);
        };
        requestAnimationFrame(tick);
    });
    return () => page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => done(window.longest)))));
}

/* ---- words that many tests use ---- */
export async function write(page, code) {
    await page.fill(".editor-input", code);
}

// Runs what stands in the editor, or code; answers when it has ended.
export async function run(page, code = null) {
    if (code !== null) await write(page, code);
    await page.click(".run");
    await page.waitForSelector(".run:not(.button-stop)");
}

// All that is shown of it, without the last newline.
export const output = async (page) => (await page.locator(".output-body .out").allTextContents()).join("").replace(/\n$/, "");

export const choose = (page, language) => page.check(`.try-bar input[value=${language}]`, {force: true});
