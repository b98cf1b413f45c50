// widgets.js -- shared by several pages: formatted numbers, toasts, dialogs, small elements.
import {append, h, icon, replace} from "./dom.js";

/* ---- formatting ---- */
const round = (n, digits) => Number(n.toFixed(digits)).toLocaleString("en");

export function bytes(n) {
    if (n === null || n === undefined) return "–";
    const units = ["bytes", "KiB", "MiB", "GiB", "TiB"];
    let i = 0;
    for (; Math.abs(n) >= 1024 && i < units.length - 1; i++) n /= 1024;
    return `${round(n, i === 0 || n >= 100 ? 0 : n >= 10 ? 1 : 2)} ${n === 1 && i === 0 ? "byte" : units[i]}`;
}

export function duration(ms) {
    if (ms === null || ms === undefined) return "–";
    if (ms < 1) return `${round(ms, 2)} ms`;
    if (ms < 100) return `${round(ms, 1)} ms`;
    if (ms < 1000) return `${round(ms, 0)} ms`;
    if (ms < 60000) return `${round(ms / 1000, ms < 10000 ? 2 : 1)} s`;
    if (ms < 3600000) return `${Math.floor(ms / 60000)} min ${Math.round(ms % 60000 / 1000)} s`;
    if (ms < 86400000) return `${Math.floor(ms / 3600000)} h ${Math.round(ms % 3600000 / 60000)} min`;
    return `${round(ms / 86400000, 1)} days`;
}

export const count = (n) => n === null || n === undefined ? "–" : n.toLocaleString("en");
export const plural = (n, one, many = `${one}s`) => `${count(n)} ${n === 1 ? one : many}`;

export function clockTime(when) {
    return new Date(when).toLocaleTimeString("en-GB", {hour: "2-digit", minute: "2-digit", second: "2-digit"});
}

export function ago(when) {
    const s = (Date.now() - new Date(when).getTime()) / 1000;
    if (s < 2) return "now";
    if (s < 60) return `${Math.floor(s)} s ago`;
    if (s < 3600) return `${Math.floor(s / 60)} min ago`;
    if (s < 86400) return `${Math.floor(s / 3600)} h ago`;
    return new Date(when).toLocaleDateString("en-GB", {day: "numeric", month: "short", year: "numeric"});
}

// Returns a <time> with the exact time in its title.
export function timeOf(when) {
    const date = new Date(when);
    if (isNaN(date)) return "–";
    return h("time", {datetime: date.toISOString(), title: date.toLocaleString("en-GB")}, ago(when));
}

/* ---- untrusted text ---- */
// Invisible characters that change how text looks or reads: controls, direction marks, invisible letters.
const UNSEEN = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b\u200c\u200e\u200f\u2028-\u202e\u2060-\u206f\ufe00-\ufe0d\ufeff\ufff9-\ufffb]|(?<!\p{Extended_Pictographic}[\ufe0f\u{1f3fb}-\u{1f3ff}]?)\u200d|[\u{e0000}-\u{e0fff}]/gu;
const UNSEEN_RUN = new RegExp(`(?:${UNSEEN.source})+`, "gu");
const RUN_SHOWN = 16;

export const hasUnseen = (text) => { UNSEEN.lastIndex = 0; return UNSEEN.test(text); };

function nameOfUnseen(c) {
    const code = c.codePointAt(0);
    if (code < 0x20) return String.fromCodePoint(0x2400 + code); // control pictures: ␀ ␇ ␛
    if (code === 0x7f) return "␡";
    return `U+${code.toString(16).toUpperCase().padStart(4, "0")}`;
}

// Appends text in which invisible characters are replaced by small, marked names; newline and tab are kept. Returns the
// number of marks. A run of such characters gets one mark, so that a megabyte of them does not become a million
// elements.
export function appendMarked(parent, text) {
    let at = 0, marks = 0;
    for (const match of text.matchAll(UNSEEN_RUN)) {
        if (match.index > at) parent.append(text.slice(at, match.index));
        const names = Array.from(match[0].slice(0, RUN_SHOWN), nameOfUnseen).join(" ");
        parent.append(h("span", {class: "unseen", title: "characters that cannot be seen"}, names + (match[0].length > RUN_SHOWN ? ` ×${match[0].length}` : "")));
        at = match.index + match[0].length;
        marks++;
    }
    if (at < text.length) parent.append(at === 0 ? text : text.slice(at));
    return marks;
}

export function appendVisible(parent, text) {
    appendMarked(parent, text);
    return parent;
}

// The same as plain text, for titles, attributes and file names.
export const visibleText = (text) => String(text).replace(UNSEEN, nameOfUnseen);

/* ---- small elements ---- */
// tone: "ok", "warn", "bad", "info", "" (neutral)
export const badge = (text, tone = "") => h("span", {class: ["badge", tone && `badge-${tone}`]}, text);

export const spinner = (label = "Loading") => h("span", {class: "spinner", role: "status", "aria-label": label});

// button({label, icon, kind: "primary" | "danger" | "quiet" | "", onclick, title, disabled}); without a label, `title` is its name.
export function button({label, icon: name, kind = "", onclick, title, disabled, ...rest}) {
    return h("button", {type: "button", class: ["button", kind && `button-${kind}`, !label && "button-icon"], onclick, title,
        "aria-label": label ? null : title, disabled, ...rest}, name && icon(name), label && h("span", {}, label));
}

// An empty page says what it would show, and what the user can do.
export function empty({icon: name = "box", title, text, action}) {
    return h("div", {class: "empty"}, h("div", {class: "empty-icon"}, icon(name, 28)), h("h2", {}, title),
        text && h("p", {}, text), action);
}

export function card({title, actions, class: classes, id}, ...children) {
    return h("section", {class: ["card", classes], "aria-label": title, id},
        (title || actions) && h("header", {class: "card-head"}, title && h("h2", {}, title), actions && h("div", {class: "card-actions"}, actions)),
        children);
}

// Shows an error at its place: message and hint of an ApiError.
export function problem(error, action) {
    return h("div", {class: "notice notice-bad", role: "alert"}, icon("alert"),
        h("div", {class: "notice-text"}, h("strong", {}, appendVisible(h("span"), error.message)),
            error.hint && h("p", {}, appendVisible(h("span"), error.hint))), action);
}

export function notice(tone, ...children) {
    return h("div", {class: ["notice", `notice-${tone}`]}, icon(tone === "bad" || tone === "warn" ? "alert" : tone === "ok" ? "check" : "info"),
        h("div", {class: "notice-text"}, children));
}

/* ---- toasts: shown once and removed after a while; errors stay until closed ---- */
export function toast(text, {kind = "info", hint, ms = kind === "bad" ? 0 : 5000, action} = {}) {
    const area = document.getElementById("toasts");
    const element = h("div", {class: `toast toast-${kind}`}, icon(kind === "bad" || kind === "warn" ? "alert" : kind === "ok" ? "check" : "info"),
        h("div", {class: "toast-text"}, appendVisible(h("div"), String(text)), hint && appendVisible(h("div", {class: "muted"}), hint)), action,
        button({icon: "close", kind: "quiet", title: "Close", onclick: () => element.remove()}));
    area?.append(element);
    while (area && area.children.length > 4) area.firstChild.remove();
    if (ms > 0) setTimeout(() => element.remove(), ms);
    return element;
}

export const toastError = (error) => error.kind === "aborted" || error.status === 401 ? null : toast(error.message, {kind: "bad", hint: error.hint});

export const closeToasts = () => document.getElementById("toasts")?.replaceChildren();

/* ---- dialogs: <dialog>, so that the browser handles focus, Escape and the rest of the page ---- */
// dialog({title, body: nodes, actions: [{label, kind, value}]}) -> the value of the pressed button; null: cancelled.
export function dialog({title, body, actions = [{label: "Close", value: null}], class: classes}) {
    return new Promise((resolve) => {
        let answer = null;
        const id = `dialog-${Math.random().toString(36).slice(2)}`;
        const element = h("dialog", {class: ["dialog", classes], "aria-labelledby": id, onclose: () => { element.remove(); resolve(answer); }},
            h("h2", {id}, title), h("div", {class: "dialog-body"}, body),
            h("div", {class: "dialog-actions"}, actions.map(({label, kind, value}) =>
                button({label, kind, onclick: () => { answer = value; element.close(); }}))));
        document.body.append(element);
        element.showModal();
    });
}

// Cancels all dialogs.
export function closeDialogs() {
    for (const element of document.querySelectorAll("dialog[open]")) element.close();
}

export async function confirm({title, text, action = "Go on", kind = "danger"}) {
    return await dialog({title, body: h("p", {}, text), actions: [{label: "Cancel", value: false}, {label: action, kind, value: true}]}) === true;
}

/* ---- files ---- */
// A blob: URL belongs to the page's origin, even when it is opened in its own tab. A type that can contain a script
// (SVG, HTML, XML, PDF) would run it there with the rights of the page. So only these types get a blob: URL.
const PASSIVE = new Set(["image/png", "image/jpeg", "image/gif", "image/webp", "image/avif", "image/bmp"]);

export function blobURL(blob, type) {
    return URL.createObjectURL(blob.slice(0, blob.size, PASSIVE.has(type) ? type : "application/octet-stream"));
}

export function download(blob, name) {
    const url = blobURL(blob);
    const link = h("a", {href: url, download: visibleText(name).replace(/[/\\]/g, "_")});
    document.body.append(link);
    link.click();
    link.remove();
    setTimeout(() => URL.revokeObjectURL(url), 10000);
}

export async function copyText(text) {
    try {
        await navigator.clipboard.writeText(text);
        toast("Copied", {kind: "ok", ms: 1500});
    } catch {
        toast("The browser does not let this page copy", {kind: "warn"});
    }
}

// A choice of a few: segmented({label, options: [{value, label, title}], value, onchange(value)}). Has .value.
export function segmented({label, options, value, onchange, class: classes}) {
    const name = `seg-${Math.random().toString(36).slice(2)}`;
    const group = h("div", {class: ["segmented", classes], role: "radiogroup", "aria-label": label},
        options.map((o) => h("label", {title: o.title}, h("input", {type: "radio", name, value: o.value, checked: o.value === value,
            onchange: () => { value = o.value; onchange?.(o.value); }}), h("span", {}, o.label))));
    Object.defineProperty(group, "value", {get: () => value, set: (v) => {
        value = v;
        for (const input of group.querySelectorAll("input")) input.checked = input.value === v;
    }});
    return group;
}

export {append, h, icon, replace};
