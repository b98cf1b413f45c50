// app.js -- the frame of the page, the navigation between its parts, signing in.
//
// The contract for a part ("page"):
//
//   page({name, title, icon, group, first, needs, load})         in the table below, in the order of the menu
//       name    first word of its address: #/name/more/words?and=query
//       group   heading in the menu         first   in the menu of a narrow screen; the others are behind "More"
//       needs   capability without which it is neither shown nor reachable ("" or missing: any key)
//       load    () => import("./name.js"), called when the page is first opened; the module exports
//
//   mount(root, params) -> unmount function, or nothing      (may be async; root is an empty <main>)
//       params  {path: ["exe_…"], query: URLSearchParams, signal}; signal is aborted when the user leaves the page:
//               pass it to api() and stream(), then no further cleanup is needed
//       unmount.ask() -> promise of whether the user may leave: for a page with unsaved data; not called when the key ends
//
// A page is mounted again when its address changes, when another key signs in, and when the daemon is reachable again
// (unless the module exports keep = true: then it listens to the events "offline" and "online" itself).
// go("executions/exe_1") opens another page. Everything that a page needs is exported from here:
//   dom.js      h, svg, icon, append, replace, released
//   api.js      api, stream, ApiError, events, can, currentUser, isOnline, socketProtocols
//   widgets.js  toast, toastError, dialog, confirm, badge, button, card, empty, problem, notice, spinner, segmented,
//               bytes, duration, count, plural, ago, timeOf, clockTime, appendVisible, visibleText, download, copyText
//   highlight.js (import it yourself)   codeView(code, language)      output.js   OutputView: streams, ANSI, bounded
// Rules: no innerHTML or similar functions (the CSP's Trusted Types refuse them), no inline style attributes (style objects of
// h() are allowed), requests only through api.js, colours and spacing only from the variables of style.css.
import {ApiError, api, can, currentUser, events, identify, isOnline, signIn, signOut, socketProtocols, stream} from "./api.js";
import {append, h, icon, released, replace, svg} from "./dom.js";
import {button, closeDialogs, closeToasts, dialog, empty, problem, segmented, spinner, toast} from "./widgets.js";

export {ApiError, api, append, can, currentUser, events, h, icon, isOnline, released, replace, signOut, socketProtocols, stream, svg};
export * from "./widgets.js";

const pages = [];
const page = (about) => pages.push(about);

page({name: "try", title: "Try it", icon: "play", group: "Run", first: true, needs: "sandbox.exec", load: () => import("./try.js")});
page({name: "notebook", title: "Notebook", icon: "book", group: "Run", needs: "sandbox.manage", load: () => import("./notebook.js")});
page({name: "terminal", title: "Terminal", icon: "terminal", group: "Run", needs: "sandbox.exec", load: () => import("./terminal.js")});
page({name: "files", title: "Files", icon: "folder", group: "Run", first: true, needs: "files", load: () => import("./files.js")});
page({name: "monitor", title: "Monitor", icon: "pulse", group: "Observe", first: true, load: () => import("./monitor.js")});
page({name: "executions", title: "Executions", icon: "list", group: "Observe", first: true, load: () => import("./executions.js")});
page({name: "pools", title: "Pools", icon: "clock", group: "Observe", load: () => import("./pools.js")});
page({name: "settings", title: "Sandbox", icon: "sliders", group: "Configure", needs: "settings", load: () => import("./settings.js")});
page({name: "images", title: "Images", icon: "layers", group: "Configure", load: () => import("./images.js")});
page({name: "volumes", title: "Volumes", icon: "disk", group: "Configure", needs: "settings", load: () => import("./volumes.js")});
page({name: "keys", title: "Keys", icon: "key", group: "Configure", needs: "settings", load: () => import("./keys.js")});
page({name: "secrets", title: "Secrets", icon: "lock", group: "Configure", needs: "secrets", load: () => import("./secrets.js")});

const available = () => pages.filter((p) => can(p.needs));

export function go(where) {
    location.hash = `#/${where}`;
}

/* ---- the frame ---- */
const parts = {};

function themeChoice() {
    let now = "auto";
    try { now = localStorage.getItem("cella.theme") ?? "auto"; } catch { /* follow the system */ }
    return segmented({label: "Colours", class: "theme", value: now, options: [
        {value: "auto", label: icon("screen", 16), title: "Colours of the system"}, {value: "light", label: icon("sun", 16), title: "Light"},
        {value: "dark", label: icon("moon", 16), title: "Dark"}].map((o) => ({...o, label: [o.label, h("span", {class: "hidden-text"}, o.title)]})),
    onchange: (theme) => {
        if (theme === "auto") delete document.documentElement.dataset.theme;
        else document.documentElement.dataset.theme = theme;
        try { localStorage.setItem("cella.theme", theme); } catch { /* then it is valid for this page only */ }
        events.dispatchEvent(new CustomEvent("theme", {detail: theme}));
    }});
}

function frame() {
    parts.nav = h("nav", {"aria-label": "Parts of this page"});
    parts.who = h("div", {class: "who"});
    parts.banner = h("div", {class: "banner", role: "status", hidden: true});
    parts.main = h("main", {id: "main", tabindex: "-1"});
    replace(document.getElementById("app"),
        h("header", {class: "side"}, h("a", {class: "brand", href: "#/try"}, brandMark(), h("span", {}, "Cella")), parts.nav,
            h("div", {class: "side-foot"}, parts.who, themeChoice())),
        h("div", {class: "content"}, parts.banner, parts.main),
        h("div", {id: "toasts", role: "status", "aria-live": "polite"}));
}

const brandMark = () => svg("svg", {viewBox: "0 0 32 32", width: 28, height: 28, class: "brand-mark", "aria-hidden": "true"},
    svg("rect", {width: 32, height: 32, rx: 8}), svg("path", {d: "M21.5 11.5a7 7 0 1 0 0 9"}), svg("circle", {cx: 15.8, cy: 16, r: 2.3}));

function showMenu(current) {
    const open = available(), behind = open.filter((p) => !p.first);
    replace(parts.nav, menuGroups(open, current), behind.length > 0 && h("button", {type: "button", class: ["nav-more", behind.some((p) => p.name === current) && "nav-here"],
        "aria-haspopup": "dialog", onclick: () => showMore(open, current)}, icon("more"), h("span", {}, "More")));
    const me = currentUser();
    replace(parts.who, me && !me.owner && [h("span", {class: "who-name", title: me.key}, icon("key", 16), h("span", {}, me.name ?? me.key)),
        button({icon: "exit", kind: "quiet", title: "Sign out", onclick: endSession})]);
}

function menuGroups(open, current, onclick) {
    const link = (p) => h("a", {href: `#/${p.name}`, class: p.first ? "nav-first" : null, "aria-current": p.name === current ? "page" : null, onclick}, icon(p.icon), h("span", {}, p.title));
    return Object.entries(Object.groupBy(open, (p) => p.group)).map(([title, members]) =>
        h("div", {class: "nav-group"}, h("span", {class: "nav-title", "aria-hidden": "true"}, title), members.map(link)));
}

// On a narrow screen: all pages, by group. A press on a link closes it, also on that of the current page.
function showMore(open, current) {
    dialog({title: "All pages", class: "more-pages", body: h("nav", {"aria-label": "All parts of this page"}, menuGroups(open, current, closeDialogs))});
}

// Unmount the page first: it may still need the key to end what it started.
async function endSession() {
    if (!await mayLeave()) return;
    await leave();
    signOut();
}

/* ---- navigation ---- */
let shown = null; // {about, module, leave: AbortController, unmount}
let turn = 0;

function addressed() {
    const [path, query = ""] = location.hash.replace(/^#\/?/, "").split("?");
    const words = path.split("/").filter(Boolean).map((w) => { try { return decodeURIComponent(w); } catch { return w; } });
    return {name: words[0], path: words.slice(1), query: new URLSearchParams(query)};
}

let asked = null; // the pending question whether the user may leave the page
const mayLeave = () => asked ??= Promise.resolve(shown?.unmount?.ask?.() ?? true).finally(() => { asked = null; });

async function leave() {
    const old = shown;
    shown = null;
    closeDialogs();
    old?.leave.abort();
    try { await old?.unmount?.(); } catch (error) { console.warn(error); }
}

async function show() {
    const mine = ++turn;
    if (currentUser() === null) return;
    const {name, path, query} = addressed();
    const open = available();
    const about = open.find((p) => p.name === name) ?? (name ? pages.find((p) => p.name === name) : open[0]);
    await leave();
    if (mine !== turn) return;
    showMenu(about?.name);
    document.title = about ? `${about.title} · Cella` : "Cella";
    const root = h("main", {id: "main", tabindex: "-1", class: about ? `page page-${about.name}` : "page"});
    parts.main.replaceWith(root);
    parts.main = root;
    if (!about || !open.includes(about)) return void append(root, closed(about));
    const waiting = setTimeout(() => root.append(h("div", {class: "loading"}, spinner())), 150);
    const state = {about, leave: new AbortController(), unmount: null, module: null};
    shown = state;
    try {
        state.module = await about.load();
        clearTimeout(waiting);
        if (mine !== turn) return;
        root.replaceChildren();
        const unmount = await state.module.mount(root, {path, query, signal: state.leave.signal});
        if (mine === turn) state.unmount = unmount;
        else unmount?.();
        if (performance.getEntriesByName("cella:interactive").length === 0) performance.mark("cella:interactive");
    } catch (error) {
        clearTimeout(waiting);
        if (mine !== turn || error.kind === "aborted" || error.status === 401) return;
        if (!(error instanceof ApiError)) console.error(error);
        replace(root, h("h1", {}, about.title), problem(error, button({label: "Try again", icon: "refresh", onclick: show})));
    }
}

function closed(about) {
    if (about) return [h("h1", {}, about.title), empty({icon: "key", title: "Not with this key", text: `“${about.title}” needs the capability ${about.needs}, which your key does not have.`})];
    if (pages.some((p) => p.name === addressed().name) || !addressed().name)
        return [h("h1", {}, "Cella"), empty({icon: "key", title: "Nothing to show", text: "Your key has none of the capabilities that this page needs."})];
    return [h("h1", {}, "Cella"), empty({icon: "search", title: "No such page", action: h("a", {class: "button", href: "#/try"}, "To the first page")})];
}

/* ---- signing in ---- */
async function askForKey(why) {
    ++turn;
    closeToasts();
    await leave();
    replace(parts.nav);
    replace(parts.who);
    document.title = "Sign in · Cella";
    const said = h("p", {class: "field-error", role: "alert"}, why ? `${why[0].toUpperCase()}${why.slice(1)}.` : "");
    const input = h("input", {type: "password", id: "key", name: "key", autocomplete: "off", spellcheck: "false", required: true, placeholder: "cella_…",
        "aria-describedby": "key-help"});
    const send = h("button", {class: "button button-primary", type: "submit"}, "Sign in");
    const form = h("form", {class: "card sign-in", onsubmit: async (event) => {
        event.preventDefault();
        send.disabled = true;
        try {
            await signIn(input.value.trim());
        } catch (error) {
            said.textContent = error.status === 401 ? "This key is not known. Check that all of it was pasted." : error.message;
            input.select();
        }
        send.disabled = false;
    }}, h("h1", {}, "Sign in"), h("label", {for: "key"}, "Key"), input,
    h("p", {class: "muted", id: "key-help"}, "The owner of this daemon creates one with ", h("code", {}, "cella key add NAME"),
        ", which needs no key on the machine itself. It stays in this tab and is sent in a header, never in an address."), said, send);
    const root = h("main", {id: "main", tabindex: "-1", class: "page page-sign-in"}, form);
    parts.main.replaceWith(root);
    parts.main = root;
    input.focus();
}

/* ---- connection to the daemon ---- */
function showOffline() {
    replace(parts.banner, icon("offline"), h("span", {}, "The daemon does not answer. Trying again…"));
    parts.banner.hidden = false;
}

async function showOnline() {
    parts.banner.hidden = true;
    toast("The daemon is back", {kind: "ok", ms: 2500});
    if (currentUser() === null) await start();
    else if (!shown?.module?.keep) show();
}

async function start() {
    try {
        await identify();
    } catch (error) {
        if (error.status === 401 || error.kind === "offline") return;
        replace(parts.main, problem(error, button({label: "Try again", icon: "refresh", onclick: start})));
    }
}

// The address has already changed. If the user stays, the old address is added as a new entry of the history: the
// entries before it are kept.
async function move({oldURL}) {
    if (!location.hash.startsWith("#/") && location.hash !== "") return;
    if (asked !== null) return;
    if (!await mayLeave()) return void history.pushState(null, "", oldURL);
    await show();
    if (document.activeElement === document.body) parts.main.focus({preventScroll: true});
}

frame();
addEventListener("hashchange", move);
events.addEventListener("offline", showOffline);
events.addEventListener("online", showOnline);
events.addEventListener("sign-in", (event) => askForKey(event.detail));
events.addEventListener("me", () => { if (currentUser() !== null) show(); });
start();
