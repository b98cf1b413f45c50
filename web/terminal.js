// terminal.js -- a shell in a sandbox: xterm.js over a WebSocket. xterm.js is loaded when it is needed.
//
// Output is untrusted: it is passed to the terminal as bytes, and the terminal draws characters. It cannot create
// links, access the clipboard or change the title of the page.
import {api, button, can, copyText, events, h, icon, problem, replace, socketProtocols, spinner, toast, visibleText} from "./app.js";
import {chooseSandbox, sandboxPath, stateBadge, styles} from "./live.js";

export const keep = true; // an interrupted terminal shows this, and the user opens it again

const WAIT_FOR_RESIZE = 80; // ms
const BEHIND_MAX = 512 * 1024; // bytes not drawn yet

// xterm.js writes rules into <style> elements, which the page's CSP forbids. Style sheets created by script are
// allowed: so xterm.js gets other elements that use such a sheet.
function makeWithSheets(make) {
    const sheets = [], before = Document.prototype.createElement;
    document.createElement = function (name, ...rest) {
        if (String(name).toLowerCase() !== "style") return before.call(document, name, ...rest);
        const element = h("template");
        const sheet = new CSSStyleSheet();
        sheets.push(sheet);
        document.adoptedStyleSheets = [...document.adoptedStyleSheets, sheet];
        Object.defineProperty(element, "textContent", {get: () => "", set: (text) => sheet.replaceSync(text)});
        return element;
    };
    try {
        make();
    } finally {
        delete document.createElement;
    }
    return () => { document.adoptedStyleSheets = document.adoptedStyleSheets.filter((sheet) => !sheets.includes(sheet)); };
}

function colours() {
    const style = getComputedStyle(document.documentElement), value = (name) => style.getPropertyValue(name).trim();
    const ansi = ["black", "red", "green", "yellow", "blue", "magenta", "cyan", "white"];
    const theme = {background: value("--code-bg"), foreground: value("--text"), cursor: value("--accent"), cursorAccent: value("--code-bg"), selectionBackground: `${value("--accent")}55`};
    ansi.forEach((name, i) => {
        theme[name] = value(`--ansi-${i}`);
        theme[`bright${name[0].toUpperCase()}${name.slice(1)}`] = value(`--ansi-${i + 8}`);
    });
    return theme;
}

export async function mount(root, {path, signal}) {
    await styles("pages.css");
    const id = path[0];
    if (!id) return chooseSandbox(root, {where: "terminal", title: "Terminal", text: "A shell in a sandbox. Choose one.", signal});
    const hold = h("div", {class: "terminal-hold"}, h("div", {class: "loading"}, spinner()));
    const over = h("div", {class: "terminal-over", role: "status", hidden: true});
    const state = h("span"), name = h("strong", {});
    replace(root, h("div", {class: "page-head"}, h("div", {class: "page-title"}, h("h1", {}, "Terminal"), name, h("span", {class: "mono muted"}, id), state),
        h("div", {class: "row"}, can("files") && h("a", {class: "button", href: `#/files/${id}`}, icon("folder"), "Files"),
            h("a", {class: "button", href: "#/terminal"}, "Another"))), h("section", {class: "card terminal", "aria-label": "Terminal"}, hold, over));
    let sandbox;
    try {
        sandbox = await api(sandboxPath(id), {signal});
    } catch (error) {
        if (error.status !== 404) throw error;
        return void replace(hold, problem(error, h("a", {class: "button", href: "#/terminal"}, "Choose another")));
    }
    replace(state, stateBadge(sandbox.state));
    name.textContent = visibleText(sandbox.name ?? "");
    const [{Terminal}, {FitAddon}] = await Promise.all([import("./xterm.js"), import("./addon-fit.js"), styles("xterm.css")]);
    if (signal.aborted) return;
    const session = new Session({id, Terminal, FitAddon, hold, over, state, signal});
    session.connect();
    return () => session.close();
}

class Session {
    constructor({id, Terminal, FitAddon, hold, over, state, signal}) {
        Object.assign(this, {id, over, state, signal});
        this.screen = h("div", {class: "terminal-screen"});
        replace(hold, this.screen);
        this.terminal = new Terminal({fontFamily: getComputedStyle(document.documentElement).getPropertyValue("--mono"), fontSize: 13.5, lineHeight: 1.2, theme: colours(), cursorBlink: !matchMedia("(prefers-reduced-motion: reduce)").matches,
            scrollback: 5000, screenReaderMode: true, convertEol: false, linkHandler: {activate() { /* links made by a sandbox are only text */ }}});
        this.fit = new FitAddon();
        this.terminal.loadAddon(this.fit);
        // A sandbox cannot set the title of the page or the clipboard.
        for (const code of [0, 1, 2, 8, 52]) this.terminal.parser.registerOscHandler(code, () => true);
        this.dropSheets = makeWithSheets(() => this.terminal.open(this.screen));
        this.fit.fit();
        this.terminal.onData((data) => this.type(new TextEncoder().encode(data)));
        this.terminal.onBinary((data) => this.type(Uint8Array.from(data, (c) => c.charCodeAt(0))));
        this.terminal.onResize(() => this.sendSize());
        this.listenForInput();
        this.terminal.attachCustomKeyEventHandler((event) => this.key(event));
        this.observer = new ResizeObserver(() => {
            clearTimeout(this.resizing);
            this.resizing = setTimeout(() => this.fit.fit(), WAIT_FOR_RESIZE);
        });
        this.observer.observe(this.screen);
        this.onTheme = () => { this.terminal.options.theme = colours(); };
        this.dark = matchMedia("(prefers-color-scheme: dark)");
        this.dark.addEventListener("change", this.onTheme);
        events.addEventListener("theme", this.onTheme);
        this.terminal.focus();
    }

    close() {
        this.left = true;
        this.observer.disconnect();
        clearTimeout(this.resizing);
        this.dark.removeEventListener("change", this.onTheme);
        events.removeEventListener("theme", this.onTheme);
        // The browser reports a socket that is closed while it connects as an error.
        const socket = this.socket;
        if (socket?.readyState === WebSocket.CONNECTING) Object.assign(socket, {onopen: () => socket.close(1000), onmessage: null, onclose: null});
        else socket?.close(1000);
        this.terminal.dispose();
        this.dropSheets();
    }

    /* ---- the connection ---- */
    connect() {
        this.over.hidden = true;
        this.ended = null;
        this.fit.fit();
        const {cols, rows} = this.terminal;
        const address = new URL(sandboxPath(this.id, `/terminal?cols=${cols}&rows=${rows}`), location.href);
        address.protocol = location.protocol === "https:" ? "wss:" : "ws:";
        this.opened = this.held = false;
        this.behind = 0;
        this.socket = new WebSocket(address, socketProtocols());
        this.socket.binaryType = "arraybuffer";
        this.socket.onopen = () => {
            this.opened = true;
            this.sendSize();
            this.terminal.focus();
        };
        this.socket.onmessage = ({data}) => this.hear(data);
        this.socket.onclose = () => this.lost();
    }

    hear(data) {
        if (typeof data === "string") {
            try { this.ended = JSON.parse(data); } catch { /* not from the daemon */ }
            return;
        }
        // If a program prints faster than the terminal draws, read more slowly: a browser would buffer everything it
        // receives.
        this.behind += data.byteLength;
        this.terminal.write(new Uint8Array(data), () => {
            this.behind -= data.byteLength;
            if (this.behind < BEHIND_MAX / 4) this.hold(false);
        });
        if (this.behind > BEHIND_MAX) this.hold(true);
    }

    hold(yes) {
        if (this.held === yes || this.socket?.readyState !== WebSocket.OPEN) return;
        this.held = yes;
        this.socket.send(JSON.stringify({hold: yes}));
    }

    type(data) {
        if (this.socket?.readyState === WebSocket.OPEN) {
            for (let at = 0; at < data.length; at += 16384) this.socket.send(data.subarray(at, at + 16384));
        } else if (data.includes(13) && !this.over.hidden && this.canReopen) {
            this.connect();
        }
    }

    // Dictation, emoji pickers and some keyboards on screens insert text without key events. In its mode for screen
    // readers, xterm.js ignores such text, because it cannot distinguish it from text of a key that it has handled.
    listenForInput() {
        let keys = 0;
        const on = (name, listen) => this.screen.addEventListener(name, listen, {capture: true, signal: this.signal});
        on("keydown", () => { keys++; });
        on("keyup", () => { keys = 0; });
        on("blur", () => { keys = 0; });
        on("input", (event) => {
            if (keys > 0 || event.isComposing || event.inputType !== "insertText" || !event.data) return;
            this.type(new TextEncoder().encode(event.data));
            event.target.value = "";
        });
    }

    sendSize() {
        if (this.socket?.readyState === WebSocket.OPEN) this.socket.send(JSON.stringify({resize: [this.terminal.cols, this.terminal.rows]}));
    }

    // Finds out why the connection ended: the shell has exited, the sandbox is gone, or the daemon is unreachable.
    async lost() {
        if (this.left || this.signal.aborted) return;
        let text, again = true;
        try {
            const sandbox = await api(sandboxPath(this.id), {signal: this.signal});
            replace(this.state, stateBadge(sandbox.state));
            if (sandbox.state === "paused") text = "The sandbox is paused: it answers when it is resumed.";
            else if (this.ended) text = `The shell has ended with exit code ${Number(this.ended.exit_code)}.`;
            else text = this.opened ? "The connection broke. The processes of the terminal have ended." : "The terminal could not be opened.";
        } catch (error) {
            if (this.left || error.kind === "aborted" || error.status === 401) return;
            if (error.status === 404) {
                replace(this.state, stateBadge("stopped"));
                text = "The sandbox and all its files are gone.";
                again = false;
            } else {
                text = "The daemon does not answer. When it is back, a new shell can be opened if the sandbox is still there.";
            }
        }
        this.canReopen = again;
        replace(this.over, icon("alert"), h("span", {class: "grow"}, text), again ? button({label: "Open a new shell", icon: "refresh", onclick: () => this.connect()})
            : h("a", {class: "button", href: "#/terminal"}, "Choose another sandbox"));
        this.over.hidden = false;
        this.over.querySelector("button, a")?.focus();
    }

    /* ---- the keyboard ---- */
    // Ctrl+Shift+C and V as in other terminals; and F6 leaves the terminal for keyboard users (the system uses
    // Ctrl+Shift+Escape).
    key(event) {
        if (event.type !== "keydown") return true;
        if (event.key === "F6") {
            (document.querySelector(".page-head a") ?? document.getElementById("main")).focus();
            event.preventDefault();
            return false;
        }
        if (event.ctrlKey && event.shiftKey && event.code === "KeyC" && this.terminal.hasSelection()) {
            copyText(this.terminal.getSelection());
            event.preventDefault();
            return false;
        }
        if (event.ctrlKey && event.shiftKey && event.code === "KeyV") {
            navigator.clipboard?.readText?.().then((text) => this.terminal.paste(text), () => toast("The browser does not let this page paste; its menu does", {kind: "warn"}));
            event.preventDefault();
            return false;
        }
        return true;
    }
}
