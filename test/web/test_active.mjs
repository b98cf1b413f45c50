// Results and files of every kind, opened as pages of their own: no script in them runs in the origin of the page.
import {ensure, run, same, test, until} from "./harness.mjs";

// Says that it ran, and where.  The titles of pages are read, so that nothing needs to be let through.
const SCRIPT = "document.title = `ran in ${self.origin}`; globalThis.ran = true;";
const SVG = `<svg xmlns="http://www.w3.org/2000/svg" width="30" height="20" onload="${SCRIPT}"><title>t</title><script>${SCRIPT}</script><rect width="30" height="20"/></svg>`;
const HTML = `<!doctype html><title>t</title><script>${SCRIPT}</script><img src="x" onerror="${SCRIPT}"><svg onload="${SCRIPT}"></svg>`;
const XHTML = `<html xmlns="http://www.w3.org/1999/xhtml"><head><title>t</title><script>${SCRIPT}</script></head><body/></html>`;
const XSL = `<?xml version="1.0"?><?xml-stylesheet type="text/xsl" href="data:text/xml;base64,${btoa(`<xsl:stylesheet version="1.0" xmlns:xsl="http://www.w3.org/1999/XSL/Transform"><xsl:template match="/">${XHTML}</xsl:template></xsl:stylesheet>`)}"?><a/>`;
const PDF = `%PDF-1.4\n1 0 obj<</Type/Catalog/Pages 2 0 R/OpenAction<</S/JavaScript/JS(app.alert(1))>>>>endobj\n2 0 obj<</Type/Pages/Kids[]/Count 0>>endobj\ntrailer<</Root 1 0 R>>`;
const PNG = Buffer.from("iVBORw0KGgoAAAANSUhEUgAAAAoAAAAKCAYAAACNMs+9AAAAFUlEQVR42mNk+M9Qz0AEYBxVSF+FABJADveWkH6oAAAAAElFTkSuQmCC", "base64");
const HARMLESS = ["application/octet-stream", "image/avif", "image/bmp", "image/gif", "image/jpeg", "image/png", "image/webp"];

// Keeps every address of a blob, and its type.  The addresses stay valid: opening another tab makes the page slow, so that is done last.
const record = () => {
    const make = URL.createObjectURL.bind(URL);
    globalThis.blobs = [];
    URL.createObjectURL = (blob) => {
        const url = make(blob);
        globalThis.blobs.push({url, type: blob.type});
        return url;
    };
    URL.revokeObjectURL = () => {};
};

async function recorded(t, path) {
    const page = await t.page(path, {expects: [/./]}); // what a hostile picture makes the browser say is no matter
    await page.context().addInitScript(record);
    await page.reload();
    await page.waitForSelector("main.page > *");
    return page;
}

// Throws if the script ran in the page's origin.  Whether it ran at all is the answer.
async function judge(tab, origin, what) {
    await tab.waitForLoadState("load").catch(() => {}); // a tab that only downloads closes itself
    const [title, at] = await tab.evaluate(() => [document.title, self.origin]).catch(() => ["", ""]);
    ensure(!title.startsWith("ran") || at !== origin, `a script of ${what} ran in ${at}`);
    return title.startsWith("ran");
}

// Opens the address as if it were typed, in a tab that is used for all addresses of one page.
async function openTyped(page, url, what) {
    const tab = page.typed ??= await page.context().newPage();
    let downloaded = false;
    const note = (download) => { downloaded = true; download.cancel().catch(() => {}); };
    tab.on("download", note);
    await tab.evaluate(() => { document.title = ""; });
    await tab.goto(url, {timeout: 10000}).catch(() => {}); // a download or a refusal ends it
    const ran = await judge(tab, new URL(page.url()).origin, what);
    tab.off("download", note);
    return {ran, downloaded};
}

// Opens it as the page's own script would.
async function openByScript(page, url, what) {
    const [tab] = await Promise.all([page.waitForEvent("popup"), page.evaluate((u) => void open(u), url)]);
    const ran = await judge(tab, new URL(page.url()).origin, what);
    await tab.close().catch(() => {});
    return ran;
}

async function openAll(page, what) {
    for (const {url, type} of await page.evaluate(() => globalThis.blobs.splice(0))) {
        await openTyped(page, url, what);
        ensure(HARMLESS.includes(type), `${what}: a blob: URL of type ${JSON.stringify(type)}`);
    }
}

test("a script in a page of the daemon's origin is seen by these tests", async (t) => {
    const page = await recorded(t, "/");
    const url = await page.evaluate((html) => URL.createObjectURL(new Blob([html], {type: "text/html"})), HTML);
    let seen = "";
    try { await openTyped(page, url, "the control"); } catch (error) { seen = error.message; }
    ensure(seen.includes(`ran in ${new URL(page.url()).origin}`), `the control did not run: ${seen}`);
});

test("no kind of result runs a script in the page's origin when it is opened in a new tab", async (t) => {
    const page = await recorded(t, "/");
    const forms = {svg: SVG, html: HTML, markdown: HTML, latex: HTML, json: {k: HTML}, pdf: PDF, png: PNG.toString("base64"), jpeg: SVG};
    await run(page, `
import base64, json
class Any:
    def __init__(self, **forms): self.__dict__.update({f"_repr_{k}_": (lambda v: lambda: v)(v) for k, v in forms.items()})
for kind, data in json.loads(${JSON.stringify(JSON.stringify(forms))}).items():
    data = base64.b64decode(data) if kind == "png" else data.encode() if kind in ("pdf", "jpeg") else data
    display(Any(**{kind: data}))
${JSON.stringify(HTML)}`);
    await until(() => page.locator(".result").count().then((n) => n === 9), "nine results");
    await until(async () => (await page.locator(".result img").evaluateAll((all) => all.map((i) => i.naturalWidth))).join() === "30,10", "an SVG and a PNG are shown");
    const sources = await page.locator(".result img, .result a, .result iframe, .result object, .result embed").evaluateAll((all) => all.map((e) => e.currentSrc || e.src || e.href || e.data));
    const buttons = page.locator(".result .result-head button");
    same(await buttons.count(), 8, "downloads");
    for (let i = 0; i < 8; i++) {
        const [download] = await Promise.all([page.waitForEvent("download"), buttons.nth(i).click()]);
        await download.path();
    }
    for (const url of sources) {
        await openTyped(page, url, "a picture");
        if (url.startsWith("blob:")) await openByScript(page, url, "a picture"); // Chromium lets no script open a data: URL
        else same(await page.typed.evaluate((u) => fetch(u).then(() => "answered", () => "refused"), `${t.daemon.url}/v1/sandboxes`), "refused", "a request to the API from a data: URL");
    }
    same(sources.map((url) => url.slice(0, url.startsWith("data:") ? 18 : 5)), ["data:image/svg+xml", "blob:"], "addresses of pictures");
    await openAll(page, "results");
    same(await page.evaluate(() => globalThis.ran), undefined, "what ran in the page");
});

test("a type that only a hostile interpreter sends gets no blob of that type", async (t) => {
    const page = await recorded(t, "/");
    const types = ["text/html", "text/xml", "application/xml", "application/xhtml+xml", "image/svg+xml", "IMAGE/SVG+XML", "image/svg+xml;charset=utf-8", "image/svg+xml ",
        "application/pdf", "text/javascript", "multipart/related", "text/html;x=image/png", "image/png, text/html", "constructor", "__proto__", "", "image/x", "application/x-shockwave-flash"];
    for (const mime of types) {
        await page.evaluate(async ([type, data]) => {
            const {ResultsView} = await import("/ui/results.js"), view = new ResultsView();
            document.body.append(view.element);
            view.add({value: 1, mime: type, data, main: true});
            view.element.querySelector(".result-head button")?.click();
        }, [mime, mime.includes("svg") ? SVG : HTML]);
    }
    ensure(await page.evaluate(() => globalThis.blobs.length) >= types.length, "a type without a download");
    await openAll(page, "a hostile type");
    same(await page.evaluate(() => globalThis.ran), undefined, "what ran in the page");
});

const FILES = {"a.svg": SVG, "a.svgz": SVG, "a.html": HTML, "a.htm": HTML, "a.xhtml": XHTML, "a.xht": XHTML, "a.xml": XHTML, "a.xsl": XSL, "a.rdf": XHTML, "a.mht": HTML, "a.pdf": PDF, "a.js": SCRIPT,
    "a.json": HTML, "a.txt": HTML, "a.md": HTML, "a.css": HTML, "none": HTML, "a.png": PNG, "b.png": SVG, "a.jpg": HTML, "a.gif": `GIF89a=1;${SCRIPT}`, "a.webp": SVG, "a.avif": HTML, "a.bmp": SVG, "a.ico": SVG};

test("no kind of file runs a script in the page's origin when it is opened in a new tab", async (t) => {
    const {id} = await t.daemon.api("/v1/sandboxes", {method: "POST", body: {}});
    const at = (name, more = "") => `${t.daemon.url}/v1/sandboxes/${id}/files?path=${encodeURIComponent(`/workspace/${name}`)}${more}`;
    for (const [name, data] of Object.entries(FILES)) ensure((await fetch(at(name), {method: "PUT", body: data})).ok, `writing ${name}`);
    const page = await recorded(t, `/#/files/${id}`);
    for (const name of Object.keys(FILES)) {
        await page.locator(`tr[data-name=${JSON.stringify(name)}] .file-name`).click();
        await page.waitForSelector(".file-view:not([hidden]) :is(.editor-input, .file-picture, .notice)");
        const [download] = await Promise.all([page.waitForEvent("download"), page.getByRole("button", {name: "Download", exact: true}).click()]);
        await download.path();
        await page.getByRole("button", {name: "Close the file"}).click();
    }
    same(await page.evaluate(() => globalThis.blobs.length), Object.keys(FILES).length + 7, "downloads and pictures");
    await openAll(page, "files");
    same(await page.evaluate(() => globalThis.ran), undefined, "what ran in the page");
    await page.goto("about:blank");
    await t.daemon.api(`/v1/sandboxes/${id}`, {method: "DELETE"});
});

test("the API's own answers with a sandbox's bytes are downloads, never pages", async (t) => {
    const {id} = await t.daemon.api("/v1/sandboxes", {method: "POST", body: {}});
    const path = (name) => `/v1/sandboxes/${id}/files?path=${encodeURIComponent(`/workspace/${name}`)}`;
    for (const [name, data] of Object.entries(FILES)) ensure((await fetch(t.daemon.url + path(name), {method: "PUT", body: data})).ok, `writing ${name}`);
    const page = await recorded(t, "/");
    const addresses = [...Object.keys(FILES).map(path), `/v1/sandboxes/${id}/archive?path=/workspace`];
    for (const address of addresses) {
        for (const headers of [{}, {Range: "bytes=0-100"}]) {
            const response = await fetch(t.daemon.url + address, {headers});
            await response.arrayBuffer();
            ensure(["application/octet-stream", "application/x-tar"].includes(response.headers.get("Content-Type")), `type of ${address}`);
            same([response.headers.get("X-Content-Type-Options"), response.headers.get("Content-Disposition"), response.headers.get("Content-Security-Policy")],
                ["nosniff", "attachment", "default-src 'none'; frame-ancestors 'none'; sandbox"], `headers of ${address}`);
        }
        same(await openTyped(page, t.daemon.url + address, address), {ran: false, downloaded: true}, address);
    }
    await page.goto("about:blank");
    await t.daemon.api(`/v1/sandboxes/${id}`, {method: "DELETE"});
});

test("a blob: URL is made in one place", async () => {
    const {readdirSync, readFileSync} = await import("node:fs"), web = new URL("../../web/", import.meta.url);
    const found = readdirSync(web).filter((name) => name.endsWith(".js")).flatMap((name) => readFileSync(new URL(name, web), "utf8").match(/createObjectURL\(/g)?.map(() => name) ?? []);
    same(found, ["widgets.js"], "callers of createObjectURL");
});
