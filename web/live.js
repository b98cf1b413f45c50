// live.js -- shared by the pages about running things: their style sheet, names of sandboxes, choosing a sandbox.
import {api, badge, button, can, empty, go, h, icon, released, replace, stream, timeOf, toastError, visibleText} from "./app.js";

// Loads a style sheet that only some pages need. Resolves when it is in effect.
const sheets = new Map();

export function styles(name) {
    if (!sheets.has(name)) {
        sheets.set(name, new Promise((resolve) => {
            const link = h("link", {rel: "stylesheet", href: `/ui/${name}`});
            link.addEventListener("load", resolve);
            link.addEventListener("error", () => { sheets.delete(name); link.remove(); resolve(); });
            document.head.append(link);
        }));
    }
    return sheets.get(name);
}

const STATES = {running: ["Running", "ok"], paused: ["Paused", "warn"], stopped: ["Stopped", ""]};
export const stateBadge = (state) => badge(...(STATES[state] ?? [visibleText(state), ""]));

// sbx_5mnijbn54g7wbyrebnft is long; its last letters are enough to distinguish it.
export const shortId = (id) => id.length > 14 ? `${id.slice(0, 4)}…${id.slice(-6)}` : id;

// Labels of a sandbox. Names and values were chosen by a user, so they are untrusted text.
export function labels(metadata) {
    const all = Object.entries(metadata ?? {}), shown = all.slice(0, 8);
    return all.length > 0 && h("ul", {class: "chips labels", "aria-label": "Labels"}, shown.map(([name, value]) => h("li", {class: "chip"}, visibleText(`${name}: ${value}`.slice(0, 80)))),
        all.length > shown.length && h("li", {class: "chip"}, `${all.length - shown.length} more`));
}

// Describes the owner in a few words. The words are chosen by a user, so they are untrusted text.
export function ownerOf({agent, session, scope}) {
    const words = [agent && `agent ${agent}`, session && `session ${session}`].filter(Boolean);
    return words.length > 0 ? visibleText(words.join(", ")) : scope ? `scope ${scope}` : "";
}

export const sandboxPath = (id, rest = "") => `/v1/sandboxes/${encodeURIComponent(id)}${rest}`;

// Follows the list of sandboxes: calls changed(map of id to sandbox) now and after each change.
export function watchSandboxes({signal, changed, ...more}) {
    const all = new Map();
    return stream("/v1/events", {...more, signal, onEvent({event, data}) {
        if (event === "sandboxes") {
            all.clear();
            for (const sandbox of data.sandboxes) all.set(sandbox.id, sandbox);
        } else if (event === "sandbox") {
            all.set(data.id, data);
        } else if (event === "gone") {
            all.delete(data.id);
        } else {
            return more.onEvent?.({event, data});
        }
        changed(all);
    }});
}

// Shows a choice of sandboxes, for a page about one sandbox that was opened without one. where: "terminal" or "files".
export function chooseSandbox(root, {where, title, text, signal}) {
    const list = h("div", {class: "sandbox-choices"});
    const make = can("sandbox.manage") && button({label: "New sandbox", icon: "plus", kind: "primary", onclick: async () => {
        make.disabled = true;
        try {
            const made = await api("/v1/sandboxes", {method: "POST", body: {}, signal});
            go(`${where}/${made.id}`);
        } catch (error) {
            toastError(error);
            make.disabled = false;
        }
    }});
    replace(root, h("div", {class: "page-head"}, h("div", {}, h("h1", {}, title), h("p", {}, text)), make), list);
    let due = false;
    const show = async (all) => {
        if (due) return;
        due = true;
        await released();
        due = false;
        if (all.size === 0) return void replace(list, empty({icon: "box", title: "No sandbox yet", text: can("sandbox.manage")
            ? "Persistent sandboxes are created here, by the API, or by a scope other than “execution”." : "Sandboxes that your key has created appear here."}));
        replace(list, [...all.values()].reverse().map((sandbox) => h("a", {class: "sandbox-choice card", href: `#/${where}/${sandbox.id}`}, icon("box", 22),
            h("span", {class: "grow"}, h("strong", {class: "mono"}, visibleText(sandbox.name ?? sandbox.id)), h("span", {class: "muted small"}, sandbox.name && `${shortId(sandbox.id)} · `, ownerOf(sandbox) || "made by hand", " · ", timeOf(sandbox.created)), labels(sandbox.metadata)),
            stateBadge(sandbox.state), icon("chevron"))));
    };
    watchSandboxes({signal, changed: (all) => { show(all).catch(toastError); }}).catch(toastError);
}
