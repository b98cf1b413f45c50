// A terminal in the browser: a real shell, its size, what is pasted, how it ends.
import {AWAY, axe, ensure, same, sleep, test, until} from "./harness.mjs";

const make = (daemon, key) => daemon.api("/v1/sandboxes", {method: "POST", body: {}, key}).then((made) => made.id);
const screen = (page) => page.locator(".xterm-rows").innerText();
const says = (page, text, ms) => until(async () => (await screen(page)).includes(text), `${JSON.stringify(text)} on the screen`, ms);

async function ready(page) {
    await page.waitForSelector(".xterm-rows");
    await says(page, "$ ");
}

test("a shell gets typed and pasted text, and the size of the window", async (t) => {
    const id = await make(t.daemon), page = await t.page("/#/monitor", {expects: ["404"]}), loaded = [];
    page.on("request", (request) => loaded.push(request.url()));
    await page.locator(`tr[data-id="${id}"] a[href^="#/terminal"]`).click();
    await ready(page);
    ensure(loaded.some((url) => url.endsWith("/ui/xterm.js")), "xterm.js is loaded when it is needed");
    await page.keyboard.type("echo $((6*7))-answer; stty size\n");
    await says(page, "42-answer");
    const size = async () => [...(await screen(page)).matchAll(/^(\d+) (\d+)\s*$/gm)].at(-1)?.slice(1).map(Number);
    const [lines, columns] = await until(size, "its size");
    ensure(lines > 20 && columns > 80, `${lines} lines, ${columns} columns`);
    await page.setViewportSize({width: 700, height: 500});
    await sleep(400);
    await page.keyboard.type("clear; stty size\n");
    await until(async () => { const now = await size(); return now && now[1] < columns && now[0] < lines; }, "a smaller size");
    await page.evaluate(() => {
        const data = new DataTransfer();
        data.setData("text/plain", "echo pasted-$((1+1))\n");
        document.querySelector(".xterm-helper-textarea").dispatchEvent(new ClipboardEvent("paste", {clipboardData: data, bubbles: true}));
    });
    await page.keyboard.press("Enter");
    await says(page, "pasted-2");
    await axe(page);
    await t.daemon.api(`/v1/sandboxes/${id}`, {method: "DELETE"});
});

test("text that is inserted without key events reaches the shell, once", async (t) => {
    const id = await make(t.daemon), page = await t.page(`/#/terminal/${id}`, {expects: ["404"]});
    await ready(page);
    await page.keyboard.insertText("echo dictated-$((4+4)) "); // as dictation, emoji pickers and keyboards on screens do
    await page.keyboard.type("and-typed");
    await page.keyboard.insertText(" \u{1f600}");
    await page.keyboard.press("Enter");
    await until(async () => (await screen(page)).split("\n").some((line) => line.trim().startsWith("dictated-8 and-typed \u{1f600}")), "the text");
    ensure(!(await screen(page)).includes("dictated-8 dictated-8"), await screen(page));
    await t.daemon.api(`/v1/sandboxes/${id}`, {method: "DELETE"});
});

test("output of a sandbox in the terminal cannot affect the page", async (t) => {
    const id = await make(t.daemon), page = await t.page(`/#/terminal/${id}`, {expects: ["404"]});
    await ready(page);
    await page.keyboard.type(String.raw`printf '\033]0;hacked\007\033]52;c;aGFja2Vk\007<img src=x onerror=alert(1)>\033]8;;javascript:alert(1)\007link\033]8;;\007 \342\200\256 over\n'` + "\n");
    await says(page, "over");
    same(await page.title(), "Terminal · Cella", "the title");
    same(await page.locator(".xterm-rows img, .xterm-rows a").count(), 0, "elements made from text");
    await page.keyboard.type("yes 0123456789012345678901234567890123456789 | head -c 3000000; echo; echo all-of-it-$((40+2))\n");
    await says(page, "all-of-it-42");
    await t.daemon.api(`/v1/sandboxes/${id}`, {method: "DELETE"});
});

test("a terminal shows why it ended, and can be opened again if the sandbox exists", async (t) => {
    const id = await make(t.daemon), page = await t.page(`/#/terminal/${id}`, {expects: ["404"]});
    await ready(page);
    await page.keyboard.type("exit 7\n");
    await page.getByText("The shell has ended with exit code 7.").waitFor();
    await page.getByRole("button", {name: "Open a new shell"}).click();
    await page.locator(".terminal-over[hidden]").waitFor({state: "attached"});
    await sleep(300);
    await page.keyboard.type("echo again-$((2+3))\n");
    await says(page, "again-5");
    await t.daemon.api(`/v1/sandboxes/${id}`, {method: "DELETE"});
    await page.getByText("The sandbox and all its files are gone.").waitFor();
    same(await page.getByRole("button", {name: "Open a new shell"}).count(), 0, "a way to open it again");
    const other = await t.page("/#/terminal/sbx_aaaaaaaaaaaaaaaaaaaa", {expects: ["404"]});
    await other.getByText("Choose another").waitFor();
});

test("the key is sent in the handshake and not in the address; without it there is no terminal", async (t) => {
    const daemon = await t.newDaemon();
    const owner = await daemon.api("/v1/keys", {method: "POST", body: {name: "web", capabilities: ["sandbox.exec", "sandbox.manage", "files"]}});
    const id = await make(daemon, owner.key), page = await t.page(`/#/terminal/${id}`, {daemon, expects: ["401", "WebSocket", ...AWAY]});
    const sockets = [];
    page.on("websocket", (socket) => sockets.push(socket.url()));
    await page.fill("#key", owner.key);
    await page.keyboard.press("Enter");
    await ready(page);
    await page.keyboard.type("echo in-$((3*3))\n");
    await says(page, "in-9");
    same(sockets.filter((url) => url.includes(owner.key)), [], "addresses with the key");
    const refused = await page.evaluate(async (target) => await new Promise((done) => {
        const socket = new WebSocket(target, ["cella", "cella.key.cella_wrong"]);
        socket.onopen = () => done("open");
        socket.onerror = () => done("refused");
    }), `ws://127.0.0.1:${daemon.port}/v1/sandboxes/${id}/terminal`);
    same(refused, "refused", "with a wrong key");
    await daemon.halt("SIGKILL");
    await page.getByText("The daemon does not answer. When it is back").waitFor();
    await daemon.launch();
});
